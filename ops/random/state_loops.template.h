/* Loops over the words of states of bit_generators.h, for one instruction set: copies, and the next 624 words of the
 * Mersenne Twister, in parts, as each word depends on one that is 227 before it. bit_generators.h calls them when a
 * state has been used up. Words are integers: all sets give the same. */
/* The block of keys after `key`, beside it. */
static void IN_SET(phintys_mt19937_next_block)(const uint32_t* restrict key, uint32_t* restrict next) {
    for (int position = 0; position < 227; position++)
        next[position] = phintys_mt19937_mixed(key[position], key[position + 1], key[position + 397]);
    for (int position = 227; position < 623; position++)
        next[position] = phintys_mt19937_mixed(key[position], key[position + 1], next[position - 227]);
    next[623] = phintys_mt19937_mixed(key[623], next[0], next[396]);
}

static void IN_SET(phintys_mt19937_refill)(uint32_t* key) {
    for (int position = 0; position < 227; position++)
        key[position] = phintys_mt19937_mixed(key[position], key[position + 1], key[position + 397]);
    for (int position = 227; position < 623; position++)
        key[position] = phintys_mt19937_mixed(key[position], key[position + 1], key[position - 227]);
    key[623] = phintys_mt19937_mixed(key[623], key[0], key[396]);
}

/* Copy a state. At this length memcpy takes an instruction for strings, which is slow to begin. */
static void IN_SET(phintys_copy_state)(uint64_t* restrict copy, const uint64_t* restrict state,
                               ptrdiff_t words) {
    ptrdiff_t position = 0;
    for (; position + 8 <= words; position += 8) {
        memcpy(copy + position, state + position, 64);
        __asm__ volatile("" ::: "memory");              /* else the loop becomes a call of memcpy */
    }
    for (; position < words; position++) copy[position] = state[position];
}
