import type { Registry } from 'prom-client'

/** The value of one sample, given as `name{label="value"}`; undefined if the page does not have it. */
export function sampleIn(page: string, sample: string): number | undefined {
  const line = page.split('\n').find((text) => text.startsWith(`${sample} `))
  return line === undefined ? undefined : Number(line.slice(sample.length + 1))
}

export async function metricValue(registry: Registry, sample: string): Promise<number | undefined> {
  return sampleIn(await registry.metrics(), sample)
}
