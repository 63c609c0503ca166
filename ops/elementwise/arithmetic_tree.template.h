/* The loop of a tree of arithmetic_tree_loops.h for one type T, with the signature of NumPy's loops (at the end); the
 * result's stride is its item size.
 */
static void TYPED(gather)(phintys_gathered* input, intptr_t n) {
    const char* from = input->from;
    for (intptr_t i = 0; i < n; i++, from += input->step) ((T*)input->to)[i] = *(const T*)from;
    input->from = (char*)from;
}

/* Run the tree's chain over as many whole tiles as there are; returns how many elements these are. Inputs whose elements
 * are not adjacent are copied into a buffer of a tile: once if there is one element only, else for each tile. */
static intptr_t TYPED(run_chain)(const phintys_tree* tree, char** args, intptr_t n, const intptr_t* steps) {
    const intptr_t tile = tree->tile, whole = n - n % (tile / (intptr_t)sizeof(T));
    phintys_place places[PHINTYS_TREE_OPERANDS];
    phintys_gathered gathered[PHINTYS_TREE_OPERANDS];
    int inputs = tree->inputs, buffers = tree->slots, count = 0, k;
    for (k = 0; k < inputs; k++) buffers += steps[k] != (intptr_t)sizeof(T);
    char* memory = (char*)(((uintptr_t)alloca(buffers * tile + 64) + 63) & ~(uintptr_t)63);
    for (k = 0; k < inputs + tree->slots; k++) {
        const int in_place = k < inputs && steps[k] == (intptr_t)sizeof(T);
        places[k].data = in_place ? args[k] : memory;
        places[k].moves = in_place ? -1 : 0;
        memory += in_place ? 0 : tile;
        if (k >= inputs || in_place) continue;
        phintys_gathered input = {TYPED(gather), places[k].data, args[k], steps[k]};
        if (steps[k]) gathered[count++] = input;
        else TYPED(gather)(&input, tile / sizeof(T));
    }
    places[k].data = args[inputs];
    places[k].moves = -1;
    tree->chain(tree->link, places, gathered, count, whole * sizeof(T));
    return whole;
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
        if (n == 1 || steps[k] == (intptr_t)sizeof(T)) continue;
        operands[k] = memory[k];
        for (intptr_t i = 0; i < n; i++) memory[k][i] = *(const T*)(args[k] + i * steps[k]);
    }
    for (; k < result; k++) operands[k] = memory[k];
    operands[result] = args[inputs];
    phintys_perform(tree, operands, n);
}

/* Any number of elements; first the whole tiles, by the chain. What it leaves: all instructions run on one chunk before the next chunk starts, so that locals stay in the L1
 * cache. Inputs whose stride is not the item size are copied into a buffer of chunk length: once if the stride is 0,
 * else for each chunk. With more than 8 buffers, the chunks become shorter, so that all buffers together take at most
 * 16 KiB. */
static __attribute__((noinline)) void TYPED(run_chunks)(const phintys_tree* tree, char** args, intptr_t n,
                                                        const intptr_t* steps) {
    enum { CHUNK = PHINTYS_CHUNK_BYTES / sizeof(T) };
    void* operands[PHINTYS_TREE_OPERANDS];
    intptr_t start = 0, chunk;
    int inputs = tree->inputs, result = inputs + tree->locals, strided = 0, k;
    if (tree->chain && n * (intptr_t)sizeof(T) >= tree->tile) start = TYPED(run_chain)(tree, args, n, steps);
    if (start >= n) return;
    chunk = n - start;
    for (k = 0; k < inputs; k++) {
        operands[k] = args[k] + start * steps[k];
        if (n > 1 && steps[k] != (intptr_t)sizeof(T)) strided++;
    }
    operands[result] = args[inputs] + start * sizeof(T);
    if (tree->locals + strided) {
        intptr_t longest = tree->locals + strided > 8 ? (CHUNK * 8 / (tree->locals + strided)) & ~7 : CHUNK;
        if (chunk > longest) chunk = longest;
        intptr_t padded = (chunk + 7) & ~(intptr_t)7;
        uintptr_t raw = (uintptr_t)alloca((tree->locals + strided) * padded * sizeof(T) + 64);
        T* memory = (T*)((raw + 63) & ~(uintptr_t)63);
        for (k = inputs; k < result; k++, memory += padded) operands[k] = memory;
        for (k = 0; strided && k < inputs; k++) {
            if (steps[k] == (intptr_t)sizeof(T)) continue;
            operands[k] = memory;
            memory += padded;
            if (steps[k] == 0) for (intptr_t i = 0; i < chunk; i++) ((T*)operands[k])[i] = *(T*)args[k];
        }
    }
    for (;;) {
        intptr_t count = n - start < chunk ? n - start : chunk;
        for (k = 0; strided && k < inputs; k++) {
            if (steps[k] == (intptr_t)sizeof(T) || steps[k] == 0) continue;
            phintys_gathered input = {TYPED(gather), (char*)operands[k], args[k] + start * steps[k], steps[k]};
            TYPED(gather)(&input, count);
        }
        phintys_perform(tree, operands, count);
        start += count;
        if (start >= n) return;
        for (k = 0; k < inputs; k++)
            if (steps[k] == (intptr_t)sizeof(T)) operands[k] = (T*)operands[k] + count;
        operands[result] = (T*)operands[result] + count;
    }
}

/* The loop. Without locals and gaps the operands are the arguments themselves. */
static void TYPED(phintys_tree)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    const phintys_tree* tree = (const phintys_tree*)data;
    const intptr_t n = dims[0];
    if (!tree->chain && tree->locals == 0 && !phintys_has_gaps(tree, n, steps, sizeof(T)))
        phintys_perform(tree, (void* const*)args, n);
    else if (n <= PHINTYS_FEW && tree->inputs + tree->locals <= PHINTYS_FEW_OPERANDS)
        TYPED(run_few)(tree, args, n, steps);
    else
        TYPED(run_chunks)(tree, args, n, steps);
}
