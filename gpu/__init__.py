"""Room for the device runtime: nothing here runs on a GPU yet.

``phintys.gpu`` will hold the runtime on pycuda, the device kernels and the rewrites that move work to a device. It may
import everything below it (``vm``, ``ops``, ``graph``, ``optimizer``) and is imported by nothing unless a program asks
for a device. What the rest of phintys keeps free for it is listed in the folder's README.
"""
