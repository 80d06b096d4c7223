import { execFile } from 'node:child_process'
import type { Gpu, GpuSlot } from '../../domain/gpu.ts'

export interface DetectedGpu extends Gpu {
  driver: string
  /** Address on the PCI bus, like `00000000:3B:00.0`. */
  busId: string
  /** UUID of the GPU of which it is a MIG instance; null if it is a whole GPU. */
  parent: string | null
}

/** What a GPU does now. Null where the driver does not report it. */
export interface GpuSample {
  uuid: string
  temperatureCelsius: number | null
  usedMemoryBytes: number | null
  /** Share of the last sample period in which it computed, from 0 to 1. */
  utilization: number | null
  powerWatts: number | null
  /** Memory errors that could not be corrected, since the driver was loaded. */
  uncorrectedErrors: number | null
}

/** How fast two GPUs, by their indexes, can exchange data: the higher the faster, 0 if unknown. */
export type LinkRank = (a: number, b: number) => number

/** The GPUs of one vendor, by its command line tool. Each call may throw a GpuToolError. */
export interface GpuDriver {
  readonly slot: GpuSlot
  /** Absolute path of the tool. */
  readonly tool: string
  list(signal: AbortSignal): Promise<DetectedGpu[]>
  /** Samples of whole GPUs. */
  sample(signal: AbortSignal): Promise<GpuSample[]>
  links(signal: AbortSignal): Promise<LinkRank>
  /** Device nodes that a program needs for these GPUs. */
  nodes(gpus: readonly DetectedGpu[]): string[]
  /** Device nodes of all other GPUs of this machine, which a program with these must not open. */
  otherNodes(gpus: readonly DetectedGpu[]): string[]
}

/** A tool that hangs is ended after this long. */
const TOOL_WITHIN_MS = 10_000
const OUTPUT_BYTES_MAX = 1024 ** 2
const MESSAGE_LENGTH_MAX = 300

/** The vendor's tool has failed. The message is for people. */
export class GpuToolError extends Error {}

/** Runs a vendor's tool. @throws GpuToolError */
export function runTool(tool: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  const name = tool.slice(tool.lastIndexOf('/') + 1)
  const options = { timeout: TOOL_WITHIN_MS, killSignal: 'SIGKILL', maxBuffer: OUTPUT_BYTES_MAX, signal } as const
  return new Promise((resolve, reject) => {
    execFile(tool, args, { ...options, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' } }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const said = (stderr || stdout).replaceAll(/\s+/g, ' ').trim().slice(0, MESSAGE_LENGTH_MAX)
      const timedOut = error.killed === true && error.signal === 'SIGKILL'
      const why = timedOut ? `it did not answer within ${TOOL_WITHIN_MS / 1000} s` : said || error.message
      reject(new GpuToolError(`${name}: ${why}`))
    })
  })
}
