import type { Terminal } from './terminal.ts'

export interface Planned {
  retry: number
  delaySeconds: number
  earliestSeconds: number
  latestSeconds: number
  elapsedSeconds: number
}

const WIDTH_MAX = 48
const MARGIN = 36

/** One bar per retry, all on one scale: the minimum wait, and in a lighter shade the time up to the latest start. */
export function plotDelays(planned: readonly Planned[], terminal: Terminal): string[] {
  const longest = Math.max(...planned.map(({ latestSeconds }) => latestSeconds))
  const width = Math.max(10, Math.min(WIDTH_MAX, (terminal.columns ?? 80) - MARGIN))
  const length = (seconds: number) => (longest === 0 ? 0 : Math.round((seconds / longest) * width))
  return planned.map(({ earliestSeconds, latestSeconds }) => {
    const sure = Math.max(1, length(earliestSeconds))
    return terminal.style('cyan', '█'.repeat(sure) + '░'.repeat(Math.max(0, length(latestSeconds) - sure)))
  })
}
