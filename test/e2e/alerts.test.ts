import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { emptyDatabase } from '../support/database/database.ts'
import { documentBlocks } from '../support/document-blocks.ts'
import { findProgram, whyNotInstalled } from '../support/distribution.ts'
import { eventually } from '../support/eventually.ts'
import { startPartitionProxy, type PartitionProxy } from '../support/agents/partition-proxy.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** The alert rules, evaluated by Prometheus' own tool over what a real server tells. */

const missing = whyNotInstalled('promtool')
const RULES = join(import.meta.dirname, '../../docs/operation/prometheus-alerts.yml')
const MINUTES = 90

interface Series {
  series: string
  values: string
}
interface Rules {
  groups: { rules: { alert: string }[] }[]
}

let root: string
let database: Awaited<ReturnType<typeof emptyDatabase>>
/** Between server and database. */
let network: PartitionProxy
let server: ServerProcess
/** The metrics page in each state of the server. */
const pages = { idle: '', waiting: '', away: '' }
let alerts: string[]

beforeAll(async () => {
  if (missing) return
  root = await temporaryDirectory('alerts')
  alerts = (parse(await readFile(RULES, 'utf8')) as Rules).groups.flatMap(({ rules }) =>
    rules.map(({ alert }) => alert),
  )
  database = await emptyDatabase()
  const { port } = new URL(database.connectionString)
  network = await startPartitionProxy(`http://127.0.0.1:${port}`)
  const url = database.connectionString.replace(/@[^/]+/, `@${new URL(network.url).host}`)
  const env = { REPRISE_DATABASE_URL: url, REPRISE_ROLES: 'api,scheduler' }
  server = await startServer({ dataDir: root, port: 0, onLog: () => {}, env })
  const token = await readAdminToken(root)
  const scrape = async () => {
    const response = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    return { status: response.status, page: await response.text() }
  }
  pages.idle = (await scrape()).page
  await using client = createClient({ url: server.url, token })
  await client.createSession({ name: 'waits', command: ['true'] })
  pages.waiting = await eventually(async () => {
    const { page } = await scrape()
    return page.includes('bai_sessions_active{status="PENDING"} 1') && page
  })
  network.set('stalled')
  // Until the token was looked up too long ago to be trusted, and so the figures.
  pages.away = await eventually(async () => {
    const { status, page } = await scrape()
    if (status !== 200) throw new Error(`${status}: ${page}`)
    return page.includes('bai_database_up 0') && page
  })
})

afterAll(async () => {
  if (missing) return
  network.set('open')
  await server.stop()
  await network.close()
  await database.drop()
})

/** The samples of a page as series that keep their values, but for some that are given. */
function seriesOf(page: string, changed: Readonly<Record<string, string>> = {}): Series[] {
  const samples = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const series = samples.map((line) => {
    const at = line.lastIndexOf(' ')
    return { series: labelled(line.slice(0, at)), values: `${line.slice(at + 1)}x${MINUTES}` }
  })
  const given = Object.entries(changed).map(([name, values]) => ({ series: labelled(name), values }))
  return [...series.filter(({ series: name }) => !given.some((each) => each.series === name)), ...given]
}

/** A series in the notation of promtool. */
function labelled(name: string): string {
  const [metric, labels = '}'] = name.split(/\{(.*)/s) as [string, string?]
  const own = labels.slice(0, -1)
  return `${metric}{${[own, 'instance="one"', 'job="reprise"'].filter(Boolean).join(', ')}}`
}

/** Names of the alerts that fire after this time. */
async function firing(series: Series[], minutes: number = MINUTES - 5): Promise<string[]> {
  const name = `${Math.random()}.yml`
  const expressions = alerts.map((alert) => ({
    expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
    eval_time: `${minutes}m`,
    exp_samples: [{ labels: '{}', value: 0 }],
  }))
  const tests = [{ interval: '1m', input_series: series, promql_expr_test: expressions }]
  await writeFile(join(root, name), stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
  const run = promisify(execFile)(findProgram('promtool')!, ['test', 'rules', join(root, name)])
  const said = await run.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  )
  const failed = [...said.matchAll(/expr: "count\(ALERTS\{alertname=\\"(\w+)\\"/g)].map(([, alert]) => alert!)
  if (failed.length === 0 && !/SUCCESS/.test(said)) throw new Error(said)
  return failed
}

/** What would have to be seen for the others to fire: "a+bxn" begins at a and grows by b a minute. */
const SEEN: [alert: string, changed: Record<string, string>][] = [
  [
    'RepriseRetriesOverdue',
    { bai_session_retry_overdue_seconds: `61x${MINUTES}`, 'bai_session_retry_queue{hold="NONE"}': `1x${MINUTES}` },
  ],
  ['RepriseDispatchLate', { 'bai_session_retry_dispatch_lag_seconds_bucket{le="+Inf"}': `0+9x${MINUTES}` }],
  ['RepriseRetriesHeld', { 'bai_session_retry_queue{hold="DISABLED"}': `1001x${MINUTES}` }],
  ['RepriseRetriesExhausted', { 'bai_session_retry_exhausted_total{cause="OOM_KILLED"}': `0+2x${MINUTES}` }],
  ['RepriseAgentsRefuse', { bai_agents_refusing: `1x${MINUTES}` }],
  ['RepriseDiskFull', { bai_disk_full_total: `0+1x${MINUTES}` }],
  ['RepriseUncaughtFaults', { bai_uncaught_faults_total: `0+1x${MINUTES}` }],
  ['RepriseAgentsLost', { 'bai_agents{status="LOST"}': `1x${MINUTES}` }],
  [
    'RepriseServiceFails',
    { 'bai_scheduler_run_seconds_count{service="decide-retries", outcome="failed"}': `0+9x${MINUTES}` },
  ],
  [
    'RepriseServerErrors',
    { 'bai_http_request_seconds_count{route="/graphql", method="POST", status="500"}': `0+9x${MINUTES}` },
  ],
  ['RepriseWebhooksBehind', { bai_webhook_overdue_seconds: `601x${MINUTES}` }],
  ['RepriseWebhookDisabled', { 'bai_webhook_disabled_total{reason="GONE"}': `0+1x${MINUTES}` }],
  ['RepriseDeploymentBelowReplicas', { bai_deployment_replicas_missing: `1x${MINUTES}` }],
  ['RepriseChecksFail', { 'bai_route_check_seconds_count{outcome="refused"}': `0+9x${MINUTES}` }],
]

describe.skipIf(missing)(`alerts${missing ? `: ${missing}` : ''}`, () => {
  test('are silent while all is well', async () => {
    expect(await firing(seriesOf(pages.idle))).toEqual([])
  })

  test('RepriseNoAgents fires if sessions wait and there is no agent', async () => {
    expect(await firing(seriesOf(pages.waiting))).toEqual(['RepriseNoAgents'])
  })

  test('RepriseDatabaseAway fires: the server still answers the token that it knew', async () => {
    expect(await firing(seriesOf(pages.away))).toEqual(['RepriseDatabaseAway'])
  })

  test('RepriseServerGone fires without any page', async () => {
    expect(await firing(seriesOf('up 0'))).toEqual(['RepriseServerGone'])
  })

  test.each(SEEN)('%s can fire', async (alert, changed) => {
    for (const name of Object.keys(changed)) {
      const [metric] = name.replace(/_(bucket|count)\b/, '').split('{')
      expect(pages.idle).toContain(`# TYPE ${metric} `)
    }
    expect(await firing(seriesOf(pages.idle, changed))).toEqual([alert])
  })

  test('Prometheus accepts the configuration of docs/operation.md', async () => {
    const shown = (await documentBlocks()).find(
      ({ page, language }) => page === 'docs/operation.md' && language === 'yaml',
    )
    await writeFile(join(root, 'prometheus.yml'), shown!.text.replace('prometheus-alerts.yml', RULES))
    const checked = promisify(execFile)(findProgram('promtool')!, [
      'check',
      'config',
      '--syntax-only',
      join(root, 'prometheus.yml'),
    ])
    expect((await checked).stdout).toContain('is valid prometheus config file syntax')
  })

  test('every alert has a test here', () => {
    const tried = [...SEEN.map(([alert]) => alert), 'RepriseNoAgents', 'RepriseDatabaseAway', 'RepriseServerGone']
    expect(alerts.toSorted()).toEqual(tried.toSorted())
  })
})
