/* The functions of one signature: NAME, TYPE, PARAMETERS and PASSED (the names of the parameters). A C function has no
 * closure, so there is one for each entry of the table: number i passes `phintys_entries[i]` on. Included by
 * c_entries.h once for each signature; the four names are undefined at the end. */
static TYPE (*PHINTYS_NAMED(phintys_on_, NAME, ))(void* entry, PARAMETERS);

#define PHINTYS_FUNCTION(i) \
    static TYPE PHINTYS_NAMED(phintys_, NAME, _##i)(PARAMETERS) { \
        return PHINTYS_NAMED(phintys_on_, NAME, )(phintys_entries[i], PASSED); \
    }
PHINTYS_EACH(PHINTYS_FUNCTION)
#undef PHINTYS_FUNCTION

#define PHINTYS_FUNCTION(i) (void*)PHINTYS_NAMED(phintys_, NAME, _##i),
static void* PHINTYS_NAMED(phintys_functions_, NAME, )[] = {PHINTYS_EACH(PHINTYS_FUNCTION)};
#undef PHINTYS_FUNCTION
#undef NAME
#undef TYPE
#undef PARAMETERS
#undef PASSED
