import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/observability/metrics.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { codeIn, tableRows } from './document-tables.ts'
import { ROOT } from './source-files.ts'

/** The dashboard and the alert rules ask for metrics, and for labels, that there are. */

interface Dashboard {
  panels: { type: string; title: string; description?: string; targets?: { expr: string }[] }[]
}
interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
}

const dashboard = JSON.parse(await readFile(join(ROOT, 'docs/operation/grafana-dashboard.json'), 'utf8')) as Dashboard
const rules = (
  parse(await readFile(join(ROOT, 'docs/operation/prometheus-alerts.yml'), 'utf8')) as Rules
).groups.flatMap((group) => group.rules)
const panels = dashboard.panels.filter(({ type }) => type !== 'row')

/** Labels that Prometheus itself adds. */
const ADDED = ['instance', 'job', 'le']

const labelsByName = new Map<string, readonly string[]>()
for (const { name, type, labelNames = [] } of createMetrics({
  process: true,
}).registry.getMetricsAsArray() as unknown as {
  name: string
  type: string
  labelNames?: string[]
}[]) {
  const names = type === 'histogram' ? ['bucket', 'count', 'sum'].map((part) => `${name}_${part}`) : [name]
  for (const each of names) labelsByName.set(each, [...labelNames, ...ADDED])
}

function inspect(expression: string): { metrics: string[]; labels: string[]; faults: number } {
  const text = expression.replaceAll('$__rate_interval', '5m')
  const found = { metrics: [] as string[], labels: [] as string[], faults: 0 }
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) found.faults++
      if (node.name === 'Identifier') found.metrics.push(text.slice(node.from, node.to))
      if (node.name === 'LabelName') found.labels.push(text.slice(node.from, node.to))
    },
  })
  return found
}

const expressions = [
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
  ...rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
]

test.each(expressions)('%s: %s', (_name, expression) => {
  const { metrics, labels, faults } = inspect(expression)
  expect(faults).toBe(0)
  expect(metrics.length).toBeGreaterThan(0)
  expect(metrics.filter((metric) => !labelsByName.has(metric))).toEqual([])
  const known = metrics.flatMap((metric) => labelsByName.get(metric)!)
  expect(labels.filter((label) => !known.includes(label))).toEqual([])
})

test('docs/operation.md: what Prometheus scrapes is served', async () => {
  const [block] = await blocksOfTest('test/guard/operation.test.ts')
  const { scrape_configs: jobs, rule_files: files } = parse(block!.text) as {
    scrape_configs: { metrics_path?: string; http_sd_configs?: { url: string }[] }[]
    rule_files: string[]
  }
  const discovered = jobs.flatMap((job) => job.http_sd_configs ?? []).map(({ url }) => new URL(url).pathname)
  const routes = (await tableRows('docs/rest.md')).map(([, path]) => codeIn(path!)[0])
  expect(jobs.length).toBe(discovered.length + 1)
  expect(discovered.filter((path) => !routes.includes(path))).toEqual([])
  for (const file of files) await access(join(ROOT, 'docs/operation', file))
})

describe('nothing is left unseen', () => {
  test('there are panels and alerts', () => {
    expect(panels.length).toBeGreaterThan(15)
    expect(rules.length).toBeGreaterThan(8)
    for (const { annotations } of rules) expect(annotations.summary).toMatch(/\.$|which$|why\.?$/)
  })

  test('each metric of ours is on the dashboard or in a rule', () => {
    const shown = new Set(expressions.flatMap(([, expression]) => inspect(expression).metrics))
    const own = [...createMetrics().registry.getMetricsAsArray()].map(({ name }) => name)
    const unseen = own.filter((name) => ![name, `${name}_bucket`, `${name}_count`].some((part) => shown.has(part)))
    expect(unseen).toEqual([])
  })
})
