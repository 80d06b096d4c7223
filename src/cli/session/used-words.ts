import type { Attempt } from '../../client/node/index.ts'
import { binaryBytes } from '../output/bytes.ts'
import { duration } from '../output/time.ts'

type Used = Pick<NonNullable<Attempt['usage']>, 'cpuSeconds' | 'peakMemoryBytes'> & { source?: string }

/** `1.2 s CPU, 104 MiB`; what was put together from processes is about that. */
export function usedWords({ cpuSeconds, peakMemoryBytes, source }: Used): string | null {
  const words = [
    cpuSeconds === null ? null : `${duration(cpuSeconds)} CPU`,
    peakMemoryBytes === null ? null : binaryBytes(peakMemoryBytes),
  ].filter((each) => each !== null)
  if (words.length === 0) return null
  return `${source === 'PROCESSES' ? 'about ' : ''}${words.join(', ')}`
}
