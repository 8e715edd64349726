#ifndef AGENT_BASE_SD_NOTIFY_H
#define AGENT_BASE_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* What a service tells its manager, by a datagram to $NOTIFY_SOCKET; without
 * one, nothing. source: sd_notify(3), systemd.service(5) Type=notify */
struct sd_notify;

/* Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment:
 * commands that are run must not speak for us. */
struct sd_notify *sd_notify_new(void) __attribute__((returns_nonnull));
void sd_notify_free(struct sd_notify *n); /* NULL is fine */
/* One or more lines: "READY=1", "STATUS=…". Never waits; a manager that does
 * not listen is no error. */
void sd_notify_send(const struct sd_notify *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* RELOADING=1 with the time that goes with it; READY=1 ends it. */
void sd_notify_reloading(const struct sd_notify *n);
/* How often WATCHDOG=1 is to be sent: half of what the manager waits; 0: no
 * watchdog. */
int64_t sd_notify_watchdog_ms(const struct sd_notify *n);

#endif
