/* AXFR with ldns: axfr_ldns ZONE PORT; counts records and TXT bytes. cpu_us is
 * per TXT record. */
#include "tests/bench/bench.h"
#include <ldns/ldns.h>

int main(int argc, char **argv)
{
    ldns_resolver *res = ldns_resolver_new();
    ldns_rdf *ip = ldns_rdf_new_frm_str(LDNS_RDF_TYPE_A, "127.0.0.1");
    ldns_rdf *zone = ldns_dname_new_frm_str(argc > 1 ? argv[1] : "example");
    ldns_resolver_push_nameserver(res, ip);
    ldns_resolver_set_port(res, (uint16_t)(argc > 2 ? num(argv[2]) : 5353));
    unsigned rrs = 0, txt = 0;
    long rss0 = rss_kb();
    struct cpu c0 = cpu_us();
    uint64_t t0 = now_us();
    if (ldns_axfr_start(res, zone, LDNS_RR_CLASS_IN) != LDNS_STATUS_OK)
        return 1;
    while (!ldns_axfr_complete(res)) {
        ldns_rr *rr = ldns_axfr_next(res);
        if (!rr)
            break;
        rrs++;
        txt += ldns_rr_get_type(rr) == LDNS_RR_TYPE_TXT;
        ldns_rr_free(rr);
    }
    char label[64];
    snprintf(label, sizeof label, "axfr-ldns rrs=%u", rrs);
    report(label, txt ? txt : 1, 1, txt, 0, 0, 0, t0, c0, rss0);
    return 0;
}
