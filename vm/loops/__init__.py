"""The kernel of loops, a virtual machine inside an instruction: steps, replayed steps, rows computed ahead."""
