import type { Registry } from 'prom-client'

/** What Prometheus would read: the value of one sample, as `name{label="value"}`; undefined where there is none. */
export function sampleIn(page: string, sample: string): number | undefined {
  const line = page.split('\n').find((text) => text.startsWith(`${sample} `))
  return line === undefined ? undefined : Number(line.slice(sample.length + 1))
}

export async function metricValue(registry: Registry, sample: string): Promise<number | undefined> {
  return sampleIn(await registry.metrics(), sample)
}
