-- Seconds after which an attempt fails if all GPUs of one of its kernels were idle.
ALTER TABLE "sessions" ADD COLUMN "gpu_idle_timeout" DOUBLE PRECISION;
