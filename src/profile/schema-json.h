/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* schema-json - the key tables as a JSON Schema (draft 2020-12), for editors.
 *
 * It knows less than loading does: what is valid here may still be refused there. What it refuses
 * is refused there too. */
#pragma once

#include "codec/json.h"

/* A new reference, owned by the caller. */
json_t *schema_json(void);
