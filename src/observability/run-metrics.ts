import type { Metrics } from './metrics.ts'

/** Runs one pass of a background service, and counts and times it by its outcome. */
export async function measureRun<Report extends { done: number }>(
  { runs, done }: Pick<Metrics, 'runs' | 'done'>,
  service: string,
  run: () => Promise<Report>,
): Promise<Report> {
  const begun = performance.now()
  const seconds = () => (performance.now() - begun) / 1000
  try {
    const report = await run()
    runs.observe({ service, outcome: report.done > 0 ? 'done' : 'nothing' }, seconds())
    if (report.done > 0) done.inc({ service }, report.done)
    return report
  } catch (error) {
    runs.observe({ service, outcome: 'failed' }, seconds())
    throw error
  }
}
