/** Groups of failures: found by what real programs print, once each whatever crashes, and changed by people. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type FailureGroupsInput,
  findSimilarGroups,
  mergeFailureGroups,
  nameFailureGroup,
  readFailureGroupPage,
  readFailureGroups,
  readPlaces,
  setFailureGroupState,
  splitFailureGroup,
} from '../../../src/services/insight/failure-groups.ts'
import { setFailureRules } from '../../../src/services/insight/failure-rules.ts'
import { FAILURE_GROUPS_PER_DAY_MAX } from '../../../src/domain/limits.ts'
import { warningsOf } from '../../../src/domain/warning.ts'
import { removeOldFailureGroups } from '../../../src/store/sql/retention.sql.ts'
import { readWarningFacts } from '../../../src/store/sql/server.sql.ts'
import { compareSession, compareSessions, readLastSuccessOf } from '../../../src/services/insight/compare-sessions.ts'
import { storeFailures, takeFailures } from '../../../src/store/sql/insight/failures.sql.ts'
import { decisionRow } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { useAgentProgram } from '../agent/agent-fixture.ts'

describe('groups of failures', () => {
  const given = useAgentProgram()

  async function fail(script: string, name = 'fit', more: object = {}): Promise<string> {
    const { sessionId } = await given.create(['sh', '-c', script], { name, ...more })
    await given.reaches(sessionId, 'ERROR')
    return sessionId
  }

  async function succeed(script: string, name = 'fit'): Promise<void> {
    const { sessionId } = await given.create(['sh', '-c', script], { name })
    await given.reaches(sessionId, 'TERMINATED')
  }

  const groupOf = (sessionId: string) =>
    eventually(async () => {
      const { rows } = await given.db.query<{ id: string; title: string; masked: string[]; state: string }>(
        `SELECT g.* FROM failures f JOIN failure_groups g ON g.id = f.group_id WHERE f.session_id = $1`,
        [sessionId],
      )
      return rows[0]
    })

  const events = async () =>
    (
      await given.db.query<{ type: string; session_id: string; data: object }>(
        `SELECT type, session_id, data FROM session_events WHERE type LIKE 'failure_group.%' ORDER BY id`,
      )
    ).rows

  it('are found by what programs print, without what successful runs print, too', async () => {
    await given.newAgent().start()
    await succeed('echo "ERROR: retrying 3 of 9" >&2')
    const noisy = (what: string) => `echo "ERROR: retrying 7 of 9" >&2; echo "ERROR: ${what}" >&2; echo bye; exit 3`
    const first = await fail(noisy('shard 7 of /data/a is broken'))
    const second = await fail(noisy('shard 12 of /data/b is broken'))
    const other = await fail(noisy('no space left'))
    const group = await groupOf(first)
    expect(group).toMatchObject({ title: 'ERROR: shard 7 of /data/a is broken', state: 'OPEN' })
    expect(group.masked).toEqual(['ERROR: shard <n> of <path> is broken'])
    expect((await groupOf(second)).id).toBe(group.id)
    expect((await groupOf(other)).id).not.toBe(group.id)
    const own = `echo '{"fingerprint":"mine","reason":"r"}' >"$REPRISE_VERDICT_FILE"; exit 5`
    expect((await groupOf(await fail(own))).title).toBe('mine')
    expect((await events()).map(({ type, session_id }) => [type, session_id])).toEqual(
      [first, other]
        .map((id) => ['failure_group.new', id])
        .concat([['failure_group.new', expect.any(String) as string]]),
    )
  })

  it('follow the rules of their project, for failures from then on, set by its administrators', async () => {
    await given.newAgent().start()
    const { context } = given.server
    const before = await groupOf(await fail('echo "ERROR: CUDA out of memory in fit" >&2; exit 3'))
    const rules = [
      { pattern: '*CUDA out of memory*', name: 'GPU memory' },
      { pattern: 'ERROR: disk <id> is full', name: 'disks' },
    ]
    await setFailureRules(context, { project: 'default', rules })
    const gpu = await groupOf(await fail('echo "ERROR: CUDA out of memory in fit" >&2; exit 3'))
    expect(gpu).toMatchObject({ title: 'GPU memory', masked: ['ERROR: CUDA out of memory in fit'] })
    expect(gpu.id).not.toBe(before.id)
    expect((await groupOf(await fail('echo "ERROR: CUDA out of memory again" >&2; exit 4', 'test'))).id).toBe(gpu.id)
    expect(await groupOf(await fail('echo "ERROR: disk sd-7 is full" >&2; exit 4'))).toMatchObject({ title: 'disks' })
    expect((await readFailureGroups(context, [gpu.id])).get(gpu.id)).toMatchObject({ rule: rules[0]!.pattern })
    await setFailureRules(context, { project: 'default', rules: [] })
    expect((await groupOf(await fail('echo "ERROR: CUDA out of memory in fit" >&2; exit 3'))).id).toBe(before.id)
    const { rows } = await given.db.query<{ details: object }>(
      `SELECT details FROM audit_log WHERE action = 'failure_group.set_rules' ORDER BY id`,
    )
    expect(rows.map(({ details }) => details)).toEqual([
      { project: 'default', before: [], after: rules },
      { project: 'default', before: rules, after: [] },
    ])

    const refusal = (viewer: object, input: object) =>
      setFailureRules(
        { ...context, viewer: { ...context.viewer, ...viewer } },
        { project: 'default', rules: [], ...input },
      ).then(
        () => null,
        (error: { code: string }) => error.code,
      )
    expect(await refusal({ role: 'MEMBER' }, {})).toBe('FORBIDDEN')
    const other = { projectId: '019aaaaa-0000-7000-8000-000000000000' }
    expect(await refusal(other, {})).toBe('PROJECT_NOT_FOUND')
    expect(await refusal({}, { project: 'none' })).toBe('PROJECT_NOT_FOUND')
    expect(await refusal({}, { rules: [{ pattern: '', name: 'x' }] })).toBe('VALIDATION_FAILED')
  })

  it('that were resolved regress by a failure after that, and muted ones stay muted', async () => {
    await given.newAgent().start()
    const { context } = given.server
    const id = (await groupOf(await fail('echo "ERROR: a"; exit 3'))).id
    await setFailureGroupState(context, { failureGroupId: id, state: 'RESOLVED', note: 'mended in 1.2' })
    const again = await fail('echo "ERROR: a"; exit 3')
    await groupOf(again)
    expect(await groupOf(again)).toMatchObject({ id, state: 'OPEN' })
    expect((await events()).at(-1)).toMatchObject({ type: 'failure_group.regressed', session_id: again })
    await setFailureGroupState(context, { failureGroupId: id, state: 'MUTED' })
    expect((await groupOf(await fail('echo "ERROR: a"; exit 3'))).state).toBe('MUTED')
    expect(await events()).toHaveLength(2)
    const muted = { failureGroupId: id, state: 'KNOWN' as const, mutedUntil: new Date() }
    await expect(setFailureGroupState(context, muted)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    const link = { failureGroupId: id, state: 'KNOWN' as const, link: 'javascript:alert(1)' }
    await expect(setFailureGroupState(context, link)).rejects.toMatchObject({ issues: [{ path: 'link' }] })
  })

  it('are described once, whatever is undone in between', async () => {
    await given.newAgent().start()
    const { db } = given
    const undone = new Error('undone')
    await db.query(
      `INSERT INTO projects (id, domain_id, name) SELECT gen_random_uuid(), domain_id, 'none' FROM projects LIMIT 1`,
    )
    const id = await fail('echo "ERROR: once"; exit 3')
    await groupOf(id)
    await db.query('DELETE FROM failures')
    await db.query('INSERT INTO failures_due (session_id) VALUES ($1)', [id])
    const take = db.transaction(async (tx) => {
      expect(await takeFailures(tx, 10)).toMatchObject([{ sessionId: id, cause: 'KERNEL_NONZERO_EXIT' }])
      // Another server skips what this one has taken.
      expect(await db.transaction((other) => takeFailures(other, 10))).toEqual([])
      throw undone
    })
    await expect(take).rejects.toBe(undone)
    given.server.context.wake.wake('group-failures')
    expect(await groupOf(id)).toMatchObject({ title: 'ERROR: once' })
    expect(await db.transaction((tx) => storeFailures(tx, []))).toBe(0)
    expect(await events()).toHaveLength(1)
  })

  it('share one group after too many new ones in a day, which the warnings name, and go with their chains', async () => {
    await given.newAgent().start()
    const { db } = given
    const known = await groupOf(await fail('echo "ERROR: first" >&2; exit 3'))
    await db.query(
      `INSERT INTO failure_groups (id, project_id, fingerprint, version, title, lines, masked)
       SELECT gen_random_uuid(), g.project_id, n::text, 1, 'many', '{}', '{}' FROM failure_groups g, generate_series(2, $1) AS n`,
      [FAILURE_GROUPS_PER_DAY_MAX - 1],
    )
    const warnings = async () => warningsOf(await readWarningFacts(db), []).filter((text) => text.includes('failures'))
    expect(await groupOf(await fail('echo "ERROR: last" >&2; exit 3'))).toMatchObject({ title: 'ERROR: last' })
    expect(await warnings()).toEqual([])
    const shared = await groupOf(await fail('echo "ERROR: one too many" >&2; exit 3'))
    expect(shared).toMatchObject({ title: 'further kinds of failures', masked: [], cause: null })
    expect((await groupOf(await fail('echo "ERROR: two too many" >&2; exit 4'))).id).toBe(shared.id)
    expect((await groupOf(await fail('echo "ERROR: first" >&2; exit 3'))).id).toBe(known.id)
    expect(await warnings()).toEqual([expect.stringMatching(/^a project had over 1000 new kinds/)])

    await setFailureGroupState(given.server.context, { failureGroupId: known.id, state: 'KNOWN' })
    const projectId = (await db.query<{ id: string }>('SELECT project_id AS id FROM failure_groups')).rows[0]!.id
    const later = { projectId, before: new Date(Date.now() + 60_000) }
    expect(await removeOldFailureGroups(db, later, 2_000)).toBe(FAILURE_GROUPS_PER_DAY_MAX - 2)
    await db.query('DELETE FROM failures')
    expect(await removeOldFailureGroups(db, later, 2_000)).toBe(2)
    expect((await db.query('SELECT id FROM failure_groups')).rows).toEqual([{ id: known.id }])
  })

  it('count their failures over a span, by a filter and by where they happened', async () => {
    await given.newAgent().start()
    const flaky = `echo "ERROR: a" >&2; [ "$REPRISE_ATTEMPT" = 2 ] || exit 3`
    const retryPolicy = { maxRetries: 1, retryDelay: 0.05, jitter: 'NONE' as const }
    const first = await fail(flaky, 'fit', { retryPolicy })
    const child = await eventually(async () => (await decisionRow(given.db, first))?.child)
    await given.reaches(child, 'TERMINATED')
    await groupOf(await fail('echo "ERROR: a" >&2; exit 3', 'other'))
    await groupOf(await fail('echo "ERROR: b" >&2; exit 3', 'other'))
    const context = { ...given.server.context, prisma: given.prisma } as never
    const read = async (input: FailureGroupsInput) => {
      const { edges, totalCount } = await readFailureGroupPage(context, input)
      const figures = edges.map(({ node }) => [node.group.title, node.figures?.attempts, node.figures?.saved])
      return { figures, total: await totalCount(), edges }
    }
    const all = await read({ orderBy: 'CHAINS', first: 1 })
    expect(all).toMatchObject({ figures: [['ERROR: a', 2, 1]], total: 2 })
    expect((await read({ first: 1, after: all.edges[0]!.cursor })).figures).toEqual([['ERROR: b', 1, 0]])
    expect((await read({ filter: { name: { equals: 'fit' } } })).figures).toEqual([['ERROR: a', 1, 1]])
    const failureGroup = all.edges[0]!.node.group.id
    expect((await read({ filter: { failureGroup } })).figures).toEqual([['ERROR: a', 2, 1]])
    expect((await read({ states: ['RESOLVED'] })).figures).toEqual([])
    expect((await read({ window: { to: new Date(Date.now() - 3_600_000) } })).figures).toEqual([])
    const [{ node }] = all.edges as [(typeof all.edges)[0]]
    const places = await readPlaces(given.server.context, node.span, [node.group.id])
    expect(places.get(node.group.id)).toMatchObject({
      agents: [{ name: 'agent-1', attempts: 2 }],
      images: [],
      sessionIds: [expect.any(String), first],
    })
    expect(places.get(node.group.id)!.buckets.reduce((sum, each) => sum + each, 0)).toBe(2)
  })

  it('that look alike are suggested for a merge, and a merged one leads to the group that shows it', async () => {
    await given.newAgent().start()
    const { context } = given.server
    const says = (line: string) => fail(`echo "ERROR: ${line}" >&2; exit 3`)
    const one = await groupOf(await says('shard 7 of the index /data/a is broken'))
    const two = await groupOf(await says('shard 7 of the index /data/a is missing'))
    await groupOf(await says('no space left on device'))
    const rows = () => readFailureGroups(context, [one.id, two.id])
    const similar = async (id: string) =>
      (await findSimilarGroups(context, [(await rows()).get(id)!]))[0]!.map(({ group, similarity }) => ({
        id: group.id,
        similarity,
      }))
    // 8 of 9 words: ERROR shard <n> of the index <path> is.
    expect(await similar(one.id)).toEqual([{ id: two.id, similarity: 8 / 9 }])
    expect(await similar(two.id)).toEqual([{ id: one.id, similarity: 8 / 9 }])
    const stranger = { ...context, viewer: { ...context.viewer, projectId: '019aaaaa-0000-7000-8000-000000000000' } }
    expect(await findSimilarGroups(stranger, [...(await rows()).values()])).toEqual([[], []])
    await mergeFailureGroups(context, { failureGroupIds: [two.id], into: one.id })
    expect([await similar(one.id), await similar(two.id)]).toEqual([[], []])
  })

  it('are named, merged and split by people, and audited', async () => {
    await given.newAgent().start()
    const { context } = given.server
    const [one, two] = [
      await groupOf(await fail('echo "ERROR: one"; exit 3')),
      await groupOf(await fail('echo "ERROR: two"; exit 3')),
    ]
    expect(await nameFailureGroup(context, { failureGroupId: one.id, name: 'disk' })).toMatchObject({ name: 'disk' })
    await mergeFailureGroups(context, { failureGroupIds: [two.id], into: one.id })
    await expect(mergeFailureGroups(context, { failureGroupIds: [one.id], into: two.id })).rejects.toMatchObject({
      issues: [{ path: 'into' }],
    })
    expect(await splitFailureGroup(context, { failureGroupId: two.id })).toMatchObject({ mergedInto: null })
    await expect(splitFailureGroup(context, { failureGroupId: two.id })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
    const nobody = '019aaaaa-0000-7000-8000-000000000000'
    await expect(nameFailureGroup(context, { failureGroupId: nobody })).rejects.toMatchObject({
      code: 'FAILURE_GROUP_NOT_FOUND',
    })
    const { rows } = await given.db.query(
      `SELECT action FROM audit_log WHERE action LIKE 'failure_group.%' ORDER BY id`,
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'failure_group.name',
      'failure_group.merge',
      'failure_group.split',
    ])
  })
})

describe('compared sessions', () => {
  const given = useAgentProgram()

  it('differ in their specifications and at one line of their logs, for those who see both', async () => {
    await given.newAgent().start()
    const run = async (name: string, ends: 'ERROR' | 'TERMINATED', more: object) => {
      const { sessionId } = await given.create(['sh', '-c', script], { name, ...more })
      await given.reaches(sessionId, ends)
      return sessionId
    }
    const script = 'echo "step 1 in $RANDOM s"; if [ "$LR" = 9 ]; then echo "loss is nan"; exit 3; fi; echo done'
    const environ = (value: string) => [{ name: 'LR', value }]
    const good = await run('fit', 'TERMINATED', { environ: environ('1') })
    const other = await run('else', 'TERMINATED', { environ: environ('1') })
    const bad = await run('fit', 'ERROR', { environ: environ('9'), secretEnviron: [{ name: 'KEY', value: 's3cret' }] })
    const { context } = given.server
    await eventually(async () => {
      const { logDifference } = await compareSessions(context, bad, good)
      expect(logDifference).toMatchObject({ leftLine: 'loss is nan', rightLine: 'done', leftNumber: 2, rightNumber: 2 })
      return true
    })
    const { differences } = await compareSessions(context, bad, good)
    expect(differences).toContainEqual({ field: 'environ.LR', before: '9', after: '1' })
    expect(differences).toContainEqual({ field: 'secretEnviron.KEY', before: '[redacted]', after: null })
    expect(JSON.stringify(differences)).not.toContain('s3cret')
    const viewer = { ...context, viewer: { ...context.viewer, role: 'VIEWER' as const } }
    expect((await compareSessions(viewer, bad, good)).differences).toContainEqual({
      field: 'environ.LR',
      before: '[redacted]',
      after: '[redacted]',
    })
    const stranger = { ...context, viewer: { ...context.viewer, projectId: '019aaaaa-0000-7000-8000-000000000000' } }
    await expect(compareSessions(stranger, bad, good)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await readLastSuccessOf(context, [bad, good, other])).toEqual([good, null, null])
    expect(await compareSession(context, bad, undefined)).toMatchObject({ leftId: bad, rightId: good })
    expect(await compareSession(context, bad, other)).toMatchObject({ rightId: other })
    await expect(compareSession(context, other, undefined)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(compareSession(stranger, bad, undefined)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await compareSessions(context, good, good)).toMatchObject({ differences: [], logDifference: null })
  })
})

describe('failureGroups over GraphQL', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startGraphQLServer()
  })
  afterAll(() => server?.close())

  it('shows where a merged group went, and what is similar', async () => {
    const { db } = server
    const add = async (masked: string, mergedInto: string | null = null) => {
      const { rows } = await db.query<{ id: string }>(
        `INSERT INTO failure_groups (id, project_id, fingerprint, version, title, lines, masked, merged_into)
         SELECT gen_random_uuid(), id, $1, 1, $1, ARRAY[$1], ARRAY[$1], $2 FROM projects WHERE name = 'default' RETURNING id`,
        [masked, mergedInto],
      )
      return rows[0]!.id
    }
    const one = await add('disk a of the machine is full')
    const two = await add('disk b of the machine is full')
    const three = await add('disk c of the machine is full', one)
    const query = `query ($id: UUID!) { failureGroup(id: $id) {
      mergedInto { failureGroupId mergedInto { title } } similar { similarity failureGroup { failureGroupId attempts } } } }`
    const shown = async (id: string) => (await server.query(query, { id })).data.failureGroup
    const similar = [{ similarity: 6 / 7, failureGroup: { failureGroupId: two, attempts: 0 } }]
    expect(await shown(one)).toEqual({ mergedInto: null, similar })
    expect(await shown(three)).toEqual({ mergedInto: { failureGroupId: one, mergedInto: null }, similar: [] })
    await db.query('DELETE FROM failure_groups')
  })

  it('is refused with a bad window or cursor, and empty without failures', async () => {
    const query = `query ($window: TimeWindow, $after: String) { failureGroups(window: $window, after: $after) {
      totalCount edges { node { title attempts } } pageInfo { hasNextPage } } }`
    const { data } = await server.query(query)
    expect(data.failureGroups).toEqual({ totalCount: 0, edges: [], pageInfo: { hasNextPage: false } })
    const turned = { window: { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' } }
    for (const variables of [turned, { after: 'x' }])
      expect((await server.query(query, variables)).errors?.[0]?.extensions['code']).toBe('VALIDATION_FAILED')
  })
})
