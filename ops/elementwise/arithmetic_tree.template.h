/* The loop of a tree of arithmetic_tree_loops.h for one type T, with the signature of NumPy's loops (at the end); the
 * result's stride is its item size.
 */
#define ITEM ((intptr_t)sizeof(T))

static void TYPED(gather)(phintys_gathered* input, intptr_t n) {
    const char* from = input->from;
    for (intptr_t i = 0; i < n; i++, from += input->step) ((T*)input->to)[i] = *(const T*)from;
    input->from = (char*)from;
}

/* Run the elements [start, stop), whole tiles, as a chain. Inputs whose elements are not adjacent are copied into a
 * buffer of a tile: once if there is one element only, else for each tile. */
static void TYPED(run_chain)(const phintys_tree* tree, char** args, const intptr_t* steps, intptr_t start,
                             intptr_t stop) {
    phintys_operands found;
    phintys_gathered gathered[PHINTYS_TREE_OPERANDS];
    int inputs = tree->inputs, buffers = tree->slots, count = 0, k;
    for (k = 0; k < inputs; k++) buffers += steps[k] != ITEM;
    char* memory = (char*)(((uintptr_t)alloca(buffers * tree->tile + 64) + 63) & ~(uintptr_t)63);
    for (k = 0; k < inputs + tree->slots; k++) {
        const int in_place = k < inputs && steps[k] == ITEM;
        found.data[k] = in_place ? args[k] + start * ITEM : memory;
        found.moves[k] = in_place ? -1 : 0;
        if (in_place) continue;
        memory += tree->tile;
        if (k >= inputs) continue;
        phintys_gathered input = {TYPED(gather), found.data[k], args[k] + start * steps[k], steps[k]};
        if (steps[k]) gathered[count++] = input;
        else TYPED(gather)(&input, tree->tile / ITEM);
    }
    found.data[k] = args[inputs] + start * ITEM;
    found.moves[k] = -1;
    tree->chain(tree->link, &found, gathered, count, (stop - start) * ITEM);
}

/* Few elements, of which most calls of small programs have one: locals and inputs with gaps are on the stack. */
static __attribute__((noinline)) void TYPED(run_few)(const phintys_tree* tree, char** args, intptr_t n,
                                                     const intptr_t* steps) {
    T memory[PHINTYS_FEW_OPERANDS][PHINTYS_FEW];
    void* operands[PHINTYS_FEW_OPERANDS + 1];
    const int inputs = tree->inputs, result = inputs + tree->locals;
    int k;
    for (k = 0; k < inputs; k++) {
        operands[k] = args[k];
        if (n == 1 || steps[k] == ITEM) continue;
        operands[k] = memory[k];
        for (intptr_t i = 0; i < n; i++) memory[k][i] = *(const T*)(args[k] + i * steps[k]);
    }
    for (; k < result; k++) operands[k] = memory[k];
    operands[result] = args[inputs];
    phintys_perform(tree, operands, n);
}

/* Run the elements [start, stop), each instruction on one chunk before the next chunk starts, so that locals stay in
 * the L1 cache. Inputs whose stride is not the item size are copied into a buffer of chunk length: once if the stride
 * is 0, else for each chunk. With more than 8 buffers, the chunks become shorter, so that all buffers together take at
 * most 16 KiB. */
static void TYPED(run_instructions)(const phintys_tree* tree, char** args, const intptr_t* steps, intptr_t start,
                                    intptr_t stop) {
    enum { CHUNK = PHINTYS_CHUNK_BYTES / sizeof(T) };
    void* operands[PHINTYS_TREE_OPERANDS];
    int inputs = tree->inputs, result = inputs + tree->locals, strided = 0, k;
    intptr_t chunk = stop - start;
    for (k = 0; k < inputs; k++) {
        operands[k] = args[k] + start * steps[k];
        if (chunk > 1 && steps[k] != ITEM) strided++;
    }
    operands[result] = args[inputs] + start * ITEM;
    if (tree->locals + strided) {
        intptr_t longest = tree->locals + strided > 8 ? (CHUNK * 8 / (tree->locals + strided)) & ~7 : CHUNK;
        if (chunk > longest) chunk = longest;
        intptr_t padded = (chunk + 7) & ~(intptr_t)7;
        uintptr_t raw = (uintptr_t)alloca((tree->locals + strided) * padded * sizeof(T) + 64);
        T* memory = (T*)((raw + 63) & ~(uintptr_t)63);
        for (k = inputs; k < result; k++, memory += padded) operands[k] = memory;
        for (k = 0; strided && k < inputs; k++) {
            if (steps[k] == ITEM) continue;
            operands[k] = memory;
            memory += padded;
            if (steps[k] == 0) for (intptr_t i = 0; i < chunk; i++) ((T*)operands[k])[i] = *(T*)args[k];
        }
    }
    for (;;) {
        intptr_t count = stop - start < chunk ? stop - start : chunk;
        for (k = 0; strided && k < inputs; k++) {
            if (steps[k] == ITEM || steps[k] == 0) continue;
            phintys_gathered input = {TYPED(gather), (char*)operands[k], args[k] + start * steps[k], steps[k]};
            TYPED(gather)(&input, count);
        }
        phintys_perform(tree, operands, count);
        start += count;
        if (start >= stop) return;
        for (k = 0; k < inputs; k++)
            if (steps[k] == ITEM) operands[k] = (T*)operands[k] + count;
        operands[result] = (T*)operands[result] + count;
    }
}

/* How many elements there are before the first of the most read input that is at the border of a vector: loads across
 * lines of the cache take twice as long. */
static inline intptr_t TYPED(unaligned)(const phintys_tree* tree, char** args, const intptr_t* steps) {
    return tree->aligned < 0 || steps[tree->aligned] != ITEM ? 0
        : (-(uintptr_t)args[tree->aligned] & (tree->tile / 8 - 1)) / sizeof(T);
}

/* Whether the result has the memory of an input, so that elements cannot be computed twice. */
static inline int TYPED(is_in_place)(const phintys_tree* tree, char** args) {
    for (int k = 0; k < tree->inputs; k++)
        if (args[k] == args[tree->inputs]) return 1;
    return 0;
}

static __attribute__((noinline)) void TYPED(run_many)(const phintys_tree* tree, char** args, intptr_t n,
                                                      const intptr_t* steps) {
    const intptr_t tile = tree->tile / ITEM;
    intptr_t start = 0, stop;
    if (tree->chain && n >= tile) {
        if (n >= 8 * tile) start = TYPED(unaligned)(tree, args, steps);
        if (start) TYPED(run_instructions)(tree, args, steps, 0, start);
        stop = n - (n - start) % tile;
        TYPED(run_chain)(tree, args, steps, start, stop);
        start = stop;
        if (n - start > PHINTYS_FEW && !TYPED(is_in_place)(tree, args)) {   /* the last tile overlaps the one before */
            TYPED(run_chain)(tree, args, steps, n - tile, n);
            return;
        }
    }
    if (start < n) TYPED(run_instructions)(tree, args, steps, start, n);
}

/* The loop. Without locals and gaps the operands are the arguments themselves. */
static void TYPED(phintys_tree)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    const phintys_tree* tree = (const phintys_tree*)data;
    const intptr_t n = dims[0];
    if (!tree->chain && tree->locals == 0 && !phintys_has_gaps(tree, n, steps, ITEM))
        phintys_perform(tree, (void* const*)args, n);
    else if (n <= PHINTYS_FEW && tree->inputs + tree->locals <= PHINTYS_FEW_OPERANDS)
        TYPED(run_few)(tree, args, n, steps);
    else
        TYPED(run_many)(tree, args, n, steps);
}
#undef ITEM
