/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/schema-json.h"

#include <stdlib.h>
#include <string.h>

#include "profile/schema.h"

/* A value for each `type` of the tables; what is not here may be anything. In a text YAML's own
 * types are seen by an editor: 1 is a number there. */
#define TEXT   "{\"type\":[\"string\",\"number\",\"boolean\"]}"
#define STRING "{\"type\":\"string\"}"
#define LIST   "{\"type\":\"array\",\"items\":" TEXT "}"

static const struct {
	const char *type;
	const char *value;
} values[] = {
	{ "1", "{\"const\":1}" },
	{ "true", "{\"const\":true}" },
	{ "false", "{\"const\":false}" },
	{ "true or false", "{\"type\":\"boolean\"}" },
	{ "number", "{\"type\":\"integer\",\"minimum\":1}" },
	{ "size", "{\"type\":\"string\",\"pattern\":\"^[1-9][0-9]*[KMG]$\"}" },
	{ "duration", "{\"type\":\"string\",\"pattern\":\"^[1-9][0-9]*(ms|s|m|h)$\"}" },
	{ "text", TEXT },
	{ "path", STRING },
	{ "host path", STRING },
	{ "virtual path", STRING },
	{ "id", TEXT },
	{ "list of file, stderr or fd:N",
	  "{\"type\":\"array\",\"items\":{\"type\":\"string\","
	  "\"pattern\":\"^(file|stderr|fd:([2-9]|[1-9][0-9]{1,3}))$\"}}" },
	{ "list of names", LIST },
	{ "list of words", LIST },
	{ "list of paths", LIST },
	{ "list of host paths", LIST },
	{ "list of virtual paths", LIST },
	{ "list of commands", LIST },
	{ "list of hosts", LIST },
	{ "list of ports", LIST },
	{ "list of actions", LIST },
	{ "list of names, paths or patterns", LIST },
	{ "list of builtin:NAME or paths", LIST },
	{ "allow, or a map", "{\"const\":\"allow\"}" },
	{ "text, or a map", TEXT },
	{ "text, or list of words", "{\"anyOf\":[" TEXT "," LIST "]}" },
};

static json_t *need(json_t *v)
{
	if (v == NULL)
		abort();
	return v;
}

static void append(json_t *list, json_t *v)
{
	if (json_array_append_new(list, v) != 0)
		abort();
}

static json_t *any_of(json_t *first, json_t *second)
{
	json_t *o = need(json_object());
	json_t *list = need(json_array());

	append(list, first);
	append(list, second);
	json_put(o, "anyOf", list);
	return o;
}

static json_t *words_json(const struct schema_word *w)
{
	json_t *o = need(json_object());
	json_t *list = need(json_array());

	for (; w->word != NULL; w++)
		append(list, json_text(w->word));
	json_put(o, "enum", list);
	return o;
}

static json_t *type_json(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (strcmp(values[i].type, type) == 0)
			return need(json_loads(values[i].value, 0, NULL));
	}
	return need(json_object());
}

static json_t *map_json(const struct schema_map *map, bool top);

/* What may stand in place of a map is any one value, unless the type is known to say which. */
static json_t *map_or_json(const struct schema_row *row)
{
	json_t *map = map_json(row->sub, false);
	json_t *scalar;

	if (strstr(row->type, "or a map") == NULL && strstr(row->type, "or map") == NULL)
		return map;
	scalar = type_json(row->type);
	if (json_object_size(scalar) == 0)
		json_put(scalar, "not",
			 need(json_loads("{\"type\":[\"object\",\"array\"]}", 0, NULL)));
	return any_of(map, scalar);
}

static json_t *row_value(const struct schema_row *row)
{
	json_t *o = need(json_object());

	if (row->sub == NULL && row->words == NULL && row->shape != SCHEMA_SHAPE_NAMED) {
		json_decref(o);
		return type_json(row->type);
	}
	switch (row->shape) {
	case SCHEMA_SHAPE_LIST:
		json_put(o, "type", json_text("array"));
		json_put(o, "items", row->sub != NULL ? map_or_json(row) : words_json(row->words));
		return o;
	case SCHEMA_SHAPE_NAMED:
		json_put(o, "type", json_text("object"));
		json_put(o, "additionalProperties",
			 row->sub != NULL ? map_or_json(row) : type_json(row->type));
		return o;
	case SCHEMA_SHAPE_ONE:
		break;
	}
	json_decref(o);
	return row->sub != NULL ? map_or_json(row) : words_json(row->words);
}

/* @top: what extends brings in need not stand here, so nothing is required. */
static json_t *map_json(const struct schema_map *map, bool top)
{
	json_t *o = need(json_object());
	json_t *properties = need(json_object());
	json_t *required = need(json_array());

	for (size_t i = 0; i < map->n; i++) {
		const struct schema_row *row = &map->rows[i];
		json_t *value = row_value(row);

		json_put(value, "description", json_text(row->help));
		json_put(properties, row->key, value);
		if (row->required != NULL && !top)
			append(required, json_text(row->key));
	}
	json_put(o, "type", json_text("object"));
	json_put(o, "additionalProperties", json_false());
	json_put(o, "properties", properties);
	json_put(o, "required", required);
	return o;
}

json_t *schema_json(void)
{
	json_t *o = map_json(schema_root(), true);

	json_put(o, "$schema", json_text("https://json-schema.org/draft/2020-12/schema"));
	json_put(o, "title", json_text("agentbox profile"));
	return o;
}
