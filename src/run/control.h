/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* control - the supervisor's side of the control socket. What arrives was sent from inside the
 * sandbox: size and kind are checked here, every other field where it is used. */
#pragma once

#include <stdint.h>

#include "base/macro.h"
#include "child/report.h"

/* control_send() - one order. Return: 0 or -errno. */
MUST_CHECK int control_send(int fd, enum child_order_kind kind, uint32_t arg);
/* control_send_passed() - the same, with a copy of @passed. Only before START: it may wait, and
 * init reads every order until then. */
MUST_CHECK int control_send_passed(int fd, enum child_order_kind kind, int passed);
/* control_recv() - one report, without waiting.
 * Return: 1 with *ret set, 0 when there is none now, -EPIPE at end of file, -EPROTO for anything
 * that is not a report, or -errno. */
MUST_CHECK int control_recv(int fd, struct child_report *ret);
/* control_recv_terminal() - the same for the one report that brings a descriptor along.
 * @ret_fd: with CHILD_REPORT_TERMINAL the descriptor, the caller's from then on; else -1. */
MUST_CHECK int control_recv_terminal(int fd, struct child_report *ret, int *ret_fd);
