/** Programs that sessions of the check run: CUDA through the driver's library alone, without a toolkit. */

const CUDA = `
import ctypes, os, sys, time
cuda = ctypes.CDLL('libcuda.so.1')
def must(result, what):
    if result: sys.exit(f'{what}: CUDA error {result}')
def allocate(size):
    must(cuda.cuInit(0), 'cuInit')
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    must(cuda.cuDeviceGet(ctypes.byref(device), 0), 'cuDeviceGet')
    must(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device), 'cuCtxCreate')
    must(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(size)), 'cuMemAlloc')
    must(cuda.cuMemsetD8_v2(memory, 1, ctypes.c_size_t(size)), 'cuMemsetD8')
    must(cuda.cuCtxSynchronize(), 'cuCtxSynchronize')
`

const python = (script: string): string[] => ['python3', '-c', script]

/** Prints what it is told about its GPUs. */
export const TELLS = ['sh', '-c', 'echo "$CUDA_VISIBLE_DEVICES"; echo "$REPRISE_GPUS"']

/** Prints the number of GPUs that CUDA finds. */
export const COUNTS = python(`${CUDA}
count = ctypes.c_int()
print(0 if cuda.cuInit(0) else (cuda.cuDeviceGetCount(ctypes.byref(count)), count.value)[1])`)

/** Prints the nodes of GPUs that it can open. */
export const OPENS = python(`
import glob, os, re
for path in sorted(glob.glob('/dev/nvidia[0-9]*')):
    try:
        descriptor = os.open(path, os.O_RDWR)
        # Where another node is closed, the null device is in its place.
        if os.fstat(descriptor).st_rdev != os.stat('/dev/null').st_rdev: print(path)
        os.close(descriptor)
    except OSError: pass`)

/** Takes memory for some time. */
export const allocates = (bytes: number, seconds: number) =>
  python(`${CUDA}allocate(${bytes}); print('allocated', flush=True); time.sleep(${seconds})`)

/** Takes memory, and is then killed. */
export const dies = (bytes: number) =>
  python(`${CUDA}allocate(${bytes}); print('allocated', flush=True); os.kill(os.getpid(), 9)`)
