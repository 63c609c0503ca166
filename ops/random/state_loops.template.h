/* Loops over the words of states of bit_generators.h, for one instruction set. */
/* The block of keys after `key`, beside it. */
static void IN_SET(phintys_mt19937_next_block)(const uint32_t* restrict key, uint32_t* restrict next) {
    for (int place = 0; place < 227; place++)
        next[place] = phintys_mt19937_mixed(key[place], key[place + 1], key[place + 397]);
    for (int place = 227; place < 623; place++)
        next[place] = phintys_mt19937_mixed(key[place], key[place + 1], next[place - 227]);
    next[623] = phintys_mt19937_mixed(key[623], next[0], next[396]);
}

static void IN_SET(phintys_mt19937_refill)(uint32_t* key) {
    for (int place = 0; place < 227; place++)
        key[place] = phintys_mt19937_mixed(key[place], key[place + 1], key[place + 397]);
    for (int place = 227; place < 623; place++)
        key[place] = phintys_mt19937_mixed(key[place], key[place + 1], key[place - 227]);
    key[623] = phintys_mt19937_mixed(key[623], key[0], key[396]);
}

/* Copy a state. At this length memcpy takes an instruction for strings, which is slow to begin. */
static void IN_SET(phintys_copy_state)(uint64_t* restrict copy, const uint64_t* restrict state,
                               ptrdiff_t words) {
    ptrdiff_t place = 0;
    for (; place + 8 <= words; place += 8) {
        memcpy(copy + place, state + place, 64);
        __asm__ volatile("" ::: "memory");              /* else the loop becomes a call of memcpy */
    }
    for (; place < words; place++) copy[place] = state[place];
}
