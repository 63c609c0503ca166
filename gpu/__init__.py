"""Reserved for the GPU runtime: nothing here runs on a GPU yet.

``phintys.gpu`` will hold the runtime on pycuda, the device kernels and the rewrites that move work to a device. It may
import everything below it (``vm``, ``ops``, ``graph``, ``optimizer``) and is imported only when a program asks for a
device. The README of this folder lists what the rest of phintys has prepared for it.
"""
