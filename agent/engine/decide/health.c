#include "agent/engine/decide/health.h"

#define COUNTS_FRESH_MS (10 * 60 * 1000LL)
#define STATE_FRESH_MS (24 * 3600 * 1000LL)

static void set_state(struct health *h, enum health_state s, int64_t now_ms)
{
    h->state = s;
    h->since_ms = now_ms;
    if (s == HEALTH_UP)
        h->ever_up = true;
}

bool health_feed(struct health *h, const struct health_rule *rule,
                 enum health_result result, int64_t now_ms)
{
    bool ok = result == HEALTH_OK;

    if (result == HEALTH_LOCAL)
        return false;
    if (h->streak == 0 || h->last_ok != ok) {
        h->last_ok = ok;
        h->streak = 0;
    }
    if (h->streak < UINT32_MAX)
        h->streak++;
    h->last_ms = now_ms;
    if (ok && h->state != HEALTH_UP && h->streak >= rule->required_success) {
        set_state(h, HEALTH_UP, now_ms);
        return true;
    }
    if (!ok && h->state != HEALTH_DOWN && h->streak >= rule->required_failure) {
        set_state(h, HEALTH_DOWN, now_ms);
        return true;
    }
    return false;
}

bool health_is_settled(const struct health *h)
{
    return h->state != HEALTH_UNKNOWN && h->streak > 0 &&
           h->last_ok == (h->state == HEALTH_UP);
}

void health_age(struct health *h, const struct health_rule *rule,
                int64_t now_ms)
{
    int64_t fresh = 3 * rule->access_period_ms;

    if (fresh < COUNTS_FRESH_MS)
        fresh = COUNTS_FRESH_MS;
    if (h->streak > 0 && now_ms - h->last_ms > fresh)
        h->streak = 0;
    if (h->state != HEALTH_UNKNOWN && now_ms - h->last_ms > STATE_FRESH_MS)
        h->state = HEALTH_UNKNOWN;
}

const char *health_state_name(enum health_state s)
{
    static const char *const names[] = {"unknown", "up", "down"};

    return names[s];
}
