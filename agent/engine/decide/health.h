#ifndef AGENT_ENGINE_DECIDE_HEALTH_H
#define AGENT_ENGINE_DECIDE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/* The state machine of one check. Pure: time is an argument, in
 * milliseconds of any clock that does not go back.
 *
 *   unknown ──requiredSuccess ok in a row──▶ up ◀──requiredSuccess── down
 *      └──────requiredFailure failed in a row──▶ down ◀──requiredFailure── up
 *
 * A result that agrees with the state clears the count of the other side; a
 * local result (the agent could not probe) counts for neither.
 * source: spec-language 5 "Confirmed state" */

enum health_state { HEALTH_UNKNOWN, HEALTH_UP, HEALTH_DOWN };
enum health_result { HEALTH_OK, HEALTH_FAIL, HEALTH_LOCAL };

struct health_rule {
    uint32_t required_success; /* ≥ 1 */
    uint32_t required_failure; /* ≥ 1 */
    int64_t access_period_ms;
};

/* Zeroed: nothing known. Saved from run to run. */
struct health {
    enum health_state state : 8;
    bool ever_up;     /* was up at least once since the check exists */
    bool last_ok;     /* outcome of the streak */
    uint32_t streak;  /* results in a row with that outcome */
    int64_t since_ms; /* when the state was confirmed */
    int64_t last_ms;  /* when the last result was counted */
};

/* Counts a result. returns true when the state changed. */
bool health_feed(struct health *h, const struct health_rule *rule,
                 enum health_result result, int64_t now_ms);

/* The last result agrees with the confirmed state: nothing is in transition.
 * A fresh or unknown check is not settled. */
bool health_is_settled(const struct health *h);

/* What was saved some time ago is worth less: counts older than ten minutes
 * (or three access periods, if longer) start anew, a state older than a day
 * is unknown again. ever_up stays. */
void health_age(struct health *h, const struct health_rule *rule,
                int64_t now_ms);

const char *health_state_name(enum health_state s); /* "unknown", … */

#endif
