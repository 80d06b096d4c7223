/** The figures of docs/insights.md, computed from its attempts; filters, windows, tenants and what still runs. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renamed, snakeCase } from '../../../src/rest/snake-case.ts'
import { removeOldFigures } from '../../../src/store/sql/retention.sql.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { askRest } from '../../support/servers/rest-client.ts'
import { metricValue } from '../../support/servers/metric-value.ts'
import { testServer } from '../../support/servers/test-server.ts'
import type { SessionRow } from '../../support/sessions/factories.ts'

const PAGE = readFileSync('docs/insights.md', 'utf8')

/** The cells of a table of the page, by the title of its first column. */
function tableOf(title: string): string[][] {
  const [, body] = PAGE.split(`| ${title} |`) as [string, string]
  const lines = body.split('\n').slice(2)
  const end = lines.findIndex((line) => !line.startsWith('|'))
  return lines.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

let server: TestServer
let rolled: ReturnType<typeof testServer>
let projectId: string
let [admin, member, stranger]: string[] = []
const sessions = new Map<string, SessionRow>()
const NOON = new Date(new Date().setUTCHours(12, 0, 0, 0) - 2 * 86_400_000)

/** Writes an attempt of the page's table. Its chain begins at noon. @returns when it ended */
async function addAttempt([name, waited, ran, how]: string[], from: Date): Promise<Date> {
  const { db, factory } = server
  const [chain, attempt] = [name![0]!, Number(name![1])]
  const code = Number(/exit code (\d+)/.exec(how!)?.[1] ?? 0)
  const failed = how!.startsWith('exit code')
  const isStopped = how === 'stopped'
  const cause = failed ? 'KERNEL_NONZERO_EXIT' : isStopped ? 'USER_CANCELLED' : null
  const phase = failed
    ? chain === 'C' && attempt === 2
      ? 'EXHAUSTED'
      : 'DISPATCHED'
    : isStopped
      ? 'NOT_ELIGIBLE'
      : 'SUCCEEDED'
  const session = await factory.session({
    projectId,
    name: `chain-${chain}`,
    status: failed ? 'ERROR' : 'TERMINATED',
    failureCause: cause,
    phase,
    labels: { team: chain === 'C' ? 'red' : 'blue' },
    parent: sessions.get(`${chain}${attempt - 1}`),
    createdAt: from,
  })
  sessions.set(name!, session)
  const started = new Date(from.getTime() + Number(waited) * 1_000)
  const ended = new Date(started.getTime() + Number(ran) * 1_000)
  await db.query(
    `UPDATE sessions SET started_at = $2, terminated_at = $3, exit_code = $4, result = $5, resource_slots = '{"cpu": "2", "mem": "4294967296"}',
      epoch_started_at = $6, resource_group = 'default' WHERE id = $1`,
    [session.id, started, ended, failed ? code : null, failed ? 'FAILURE' : isStopped ? 'UNDEFINED' : 'SUCCESS', NOON],
  )
  return ended
}

beforeAll(async () => {
  server = await startGraphQLServer()
  rolled = testServer(server.db)
  const { factory } = server
  projectId = await factory.project('figures')
  admin = await factory.token({ role: 'ADMIN' })
  member = await factory.token({ role: 'MEMBER', projectId })
  stranger = await factory.token({ role: 'MEMBER', projectId: await factory.project() })
  const ends = new Map<string, Date>()
  for (const row of tableOf('attempt')) {
    const chain = row[0]![0]!
    ends.set(chain, await addAttempt(row, ends.get(chain) ?? NOON))
  }
  while ((await rolled.run('roll-up-figures'))[0]! > 0);
})
afterAll(() => server?.close())

const INSIGHTS = `query ($groupBy: InsightGrouping!, $labelKey: String, $filter: SessionFilter, $window: TimeWindow, $first: Int) {
  retryInsights(groupBy: $groupBy, labelKey: $labelKey, filter: $filter, window: $window, first: $first) {
    key title attempts failed retries chainsSaved chainsLost runningSecondsLost slotSecondsLost { cpu mem gpu } waitingSeconds
    medianSecondsToSuccess effectiveShare successByRetry { retry succeeded failed stopped share cumulative }
    series { from attempts failed runningSecondsLost slotSecondsLost { cpu mem gpu } } } }`
const USAGE = `query ($groupBy: UsageGrouping!, $labelKey: String, $filter: SessionFilter, $window: TimeWindow) {
  usage(groupBy: $groupBy, labelKey: $labelKey, filter: $filter, window: $window) {
    key title sessions runningSeconds slotSeconds { cpu mem gpu } cpuSecondsUsed } }`

const insights = async (variables: object, token = member!) =>
  (await server.query(INSIGHTS, variables, token)) as { data: any; errors?: any[] }
const usage = async (variables: object, token = member!) =>
  (await server.query(USAGE, variables, token)) as { data: any; errors?: any[] }

const get = (path: string, token = member!) => askRest(server, 'GET', path, { token })
const EARLY = { from: NOON.toISOString(), to: new Date(NOON.getTime() + 700_000).toISOString() }

describe('figures', () => {
  it('are those of the documentation', async () => {
    const byCode = (await insights({ groupBy: 'EXIT_CODE' })).data.retryInsights
    const [project] = (await insights({ groupBy: 'PROJECT' })).data.retryInsights
    const columns = [byCode.find(({ key }: any) => key === '1'), byCode.find(({ key }: any) => key === '64'), project]
    expect(project.title).toBe('figures')
    for (const [field, ...cells] of tableOf('figure')) {
      const path = field!.replaceAll('`', '').split('.')
      for (const [at, cell] of cells.entries()) {
        const found = path.reduce((value: any, name) => value[name], columns[at])
        if (cell === '–') expect(found, `${field} ${at}`).toBeNull()
        else expect(Math.abs(found - Number(cell)), `${field} ${at}`).toBeLessThan(cell.includes('.') ? 0.01 : 1)
      }
    }
    expect(columns[0].successByRetry).toEqual([
      { retry: 1, succeeded: 1, failed: 1, stopped: 1, share: 0.5, cumulative: 0.5 },
      { retry: 2, succeeded: 1, failed: 0, stopped: 0, share: 1, cumulative: 1 },
    ])
    const [used] = (await usage({ groupBy: 'PROJECT' })).data.usage
    expect(used).toMatchObject({ sessions: 10, runningSeconds: 7_480, slotSeconds: { cpu: 14_960, gpu: 0 } })
  })

  it('by a filter and in a short window are those of the attempts', async () => {
    const all = (await insights({ groupBy: 'EXIT_CODE' })).data.retryInsights
    const filtered = (await insights({ groupBy: 'EXIT_CODE', filter: { label: { key: 'team', value: 'red' } } })).data
    expect(filtered.retryInsights).toEqual(
      all.filter(({ key }: any) => key === '64').map((row: any) => ({ ...row, series: expect.anything() })),
    )
    const window = { from: new Date(NOON.getTime() - 3_600_000), to: new Date(NOON.getTime() + 7_200_000) }
    const short = (await insights({ groupBy: 'EXIT_CODE', window })).data.retryInsights
    expect(short).toEqual(all.map((row: any) => ({ ...row, series: expect.anything() })))
    expect(short[0].series).toEqual([
      {
        from: NOON.toISOString(),
        attempts: 4,
        failed: 4,
        runningSecondsLost: 1_550,
        slotSecondsLost: { cpu: 3_100, mem: 1_550 * 4_294_967_296, gpu: 0 },
      },
    ])
    const early = { from: NOON, to: new Date(NOON.getTime() + 700_000) }
    expect(
      (await insights({ groupBy: 'EXIT_CODE', window: early })).data.retryInsights.map(({ failed }: any) => failed),
    ).toEqual([3, 2])
    const teams = (await insights({ groupBy: 'LABEL', labelKey: 'team' })).data.retryInsights
    expect(teams.map(({ key, attempts }: any) => [key, attempts])).toEqual([
      ['blue', 8],
      ['red', 2],
    ])
    const half = { from: NOON, to: new Date(NOON.getTime() + 60_000) }
    const clipped = await usage({ groupBy: 'NAME', window: half, filter: { name: { equals: 'chain-E' } } })
    expect(clipped.data.usage).toMatchObject([{ key: 'chain-E', sessions: 0, runningSeconds: 55 }])
  })

  it.each([
    ['EXIT_CODE', 'by=exit_code', {}],
    ['LABEL', 'by=label&label_key=team', { labelKey: 'team' }],
    ['NAME', 'label=team=red&by=name', { filter: { label: { key: 'team', value: 'red' } } }],
    ['PROJECT', `by=PROJECT&from=${EARLY.from}&to=${EARLY.to}`, { window: EARLY }],
  ])('by %s are the same in REST (%s)', async (groupBy, asked, variables) => {
    const { retryInsights } = (await insights({ groupBy, ...variables })).data
    const rest = await get(`/v2/insights?${asked}&series=true`)
    expect(retryInsights.length).toBeGreaterThan(0)
    expect(rest).toMatchObject({ status: 200, body: { items: renamed(retryInsights, snakeCase) } })
    expect(rest.body.items[0].series.length).toBeGreaterThan(0)
    expect((await get(`/v2/insights?${asked}`)).body.items[0]).not.toHaveProperty('series')
    if (groupBy === 'EXIT_CODE') return
    const used = (await usage({ groupBy, ...variables })).data.usage
    expect((await get(`/v2/usage?${asked}`)).body.items).toEqual(renamed(used, snakeCase))
  })

  it('that cannot be computed are refused by REST as well', async () => {
    for (const asked of ['by=label', 'by=name&label_key=team', 'limit=0', 'by=colour', 'series=maybe'])
      expect([asked, (await get(`/v2/insights?${asked}`)).status]).toEqual([asked, 422])
    for (const asked of ['by=cause', 'series=true'])
      expect([asked, (await get(`/v2/usage?${asked}`)).status]).toEqual([asked, 422])
  })

  it('belong to their project', async () => {
    expect((await get('/v2/insights?by=name', stranger)).body.items).toEqual([])
    expect((await get('/v2/usage?by=project&project=figures', stranger)).body.items).toEqual([])
    expect((await insights({ groupBy: 'NAME' }, stranger)).data.retryInsights).toEqual([])
    expect((await usage({ groupBy: 'PROJECT' }, stranger)).data.usage).toEqual([])
    expect((await usage({ groupBy: 'PROJECT', filter: { project: 'figures' } }, stranger)).data.usage).toEqual([])
    expect((await usage({ groupBy: 'PROJECT', filter: { project: 'figures' } }, admin)).data.usage).toHaveLength(1)
  })

  it('that cannot be computed are refused', async () => {
    for (const [variables, path] of [
      [{ groupBy: 'LABEL' }, 'labelKey'],
      [{ groupBy: 'NAME', labelKey: 'team' }, 'labelKey'],
      [{ groupBy: 'NAME', first: 0 }, 'first'],
      [{ groupBy: 'NAME', window: { from: NOON, to: NOON } }, 'window'],
    ] as const) {
      const { errors } = await insights(variables)
      expect(errors![0].extensions, path).toMatchObject({ code: 'VALIDATION_FAILED', issues: [{ path }] })
    }
  })

  it('count sessions that run up to now', async () => {
    const { factory, db } = server
    const { id } = await factory.session({ projectId, name: 'long', status: 'RUNNING', sessionType: 'INTERACTIVE' })
    await db.query(
      `UPDATE sessions SET started_at = reprise_now() - interval '100 s', resource_slots = '{"cpu": "4"}' WHERE id = $1`,
      [id],
    )
    const rows = (await usage({ groupBy: 'NAME' })).data.usage
    const row = rows.find(({ key }: any) => key === 'long')
    expect(row.sessions).toBe(0)
    expect(row.runningSeconds).toBeGreaterThanOrEqual(100)
    expect(row.slotSeconds.cpu).toBeCloseTo(row.runningSeconds * 4, 1)
  })

  it('are counted once for Prometheus, and outlive the sessions until they are old', async () => {
    const { registry } = rolled.metrics
    const lost = 'bai_session_slot_seconds_lost_total{slot="cpu",cause="KERNEL_NONZERO_EXIT"}'
    expect(await metricValue(registry, lost)).toBe(3_500)
    expect(await metricValue(registry, 'bai_session_slot_seconds_saved_total{slot="cpu"}')).toBe(4_200)
    await server.db.query(`DELETE FROM sessions WHERE project_id = $1`, [projectId])
    expect((await insights({ groupBy: 'PROJECT' })).data.retryInsights).toMatchObject([{ attempts: 10, failed: 6 }])
    expect(await removeOldFigures(server.db, 3 * 86_400_000, 1_000)).toBe(0)
    expect(await removeOldFigures(server.db, 1_000, 1_000)).toBeGreaterThan(0)
    expect((await insights({ groupBy: 'PROJECT' })).data.retryInsights).toEqual([])
  })
})
