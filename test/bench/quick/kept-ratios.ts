import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'

/** A ratio that later ones are compared with. */
export interface KeptRatio {
  ratio: number
  /** Between the smallest and the largest of the measurements from which `ratio` is the median, as a share of it. */
  spread: number
  date: string
  cores: number
  cpu: string
}

export type KeptRatios = Readonly<Record<string, KeptRatio>>

export const KEPT_FILE = join(import.meta.dirname, '../kept.json')

export async function readKept(file: string): Promise<KeptRatios> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  return JSON.parse(text) as KeptRatios
}

export async function writeKept(file: string, kept: KeptRatios): Promise<void> {
  await writeFile(file, `${JSON.stringify(kept, null, 2)}\n`)
}

/** Of several measurements on this machine, today. */
export function keptOf(ratios: readonly number[]): KeptRatio {
  const sorted = ratios.toSorted((a, b) => a - b)
  const ratio = sorted[Math.floor(sorted.length / 2)]!
  return {
    ratio: toThousandths(ratio),
    spread: toThousandths((sorted.at(-1)! - sorted[0]!) / ratio),
    date: new Date().toISOString().slice(0, 10),
    ...thisMachine(),
  }
}

export function thisMachine(): { cores: number; cpu: string } {
  return { cores: availableParallelism(), cpu: cpus()[0]?.model.trim() ?? 'unknown' }
}

function toThousandths(value: number): number {
  return Math.round(value * 1000) / 1000
}
