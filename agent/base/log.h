#ifndef AGENT_BASE_LOG_H
#define AGENT_BASE_LOG_H

/* Lines for people, on standard error. The one sink of the process: its
 * level is the only mutable global of the program. */
enum log_level { LOG_ALARM, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level); /* default LOG_WARN */
enum log_level log_get_level(void);
/* One line "dnsfailover: text"; control characters become '?'. Never pass a
 * secret. Lines start with "<N>" (syslog severity) when journald reads us
 * (JOURNAL_STREAM is set). */
void log_line(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
