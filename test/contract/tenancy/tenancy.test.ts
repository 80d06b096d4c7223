import { getNamedType, isAbstractType, isObjectType, type GraphQLObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { textOfAnswer } from '../../support/servers/event-source.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { COMMON, fillArguments, globalId, idsFor, type Values } from './fill-arguments.ts'
import { fieldName, fieldPaths, leavesOf, needsArguments, selectionOf, type FieldPath } from './field-paths.ts'
import { isBulk, restRequest } from './rest-requests.ts'
import { causeEvents, createTenant, leaked, type Tenant } from './tenant.ts'

/**
 * Every field of the schema and every route, walked as a stranger, as another tenant and as a viewer. Fields that
 * are new are found by themselves; one that needs an argument that nothing is known about fails the test.
 */

let server: TestServer
let ours: Tenant
let theirs: Tenant

beforeAll(async () => {
  server = await startGraphQLServer()
  ours = await createTenant(server, 'ours')
  theirs = await createTenant(server, 'theirs')
})
afterAll(() => server?.close())

const Query = schema.getQueryType()!
const Mutation = schema.getMutationType()!
const Subscription = schema.getSubscriptionType()!
const paths = fieldPaths(schema, Query)

interface Asked {
  answer: Awaited<ReturnType<TestServer['query']>>
  variables: Record<string, unknown>
  /** The root field, and what was asked of it. */
  where: string
}

/** Asks for what several ways lead to, which begin with the same field and arguments. */
async function ask(together: readonly FieldPath[], values: Values, token: string | null): Promise<Asked> {
  const { root, steps } = together[0]!
  const ids = { node: 'node.id', nodes: 'nodes.ids' }[root.name]
  const named = ids === undefined ? {} : { [ids]: idsFor(root.name, globalId(steps[0]!.type.name, values)) }
  const { declarations, uses, variables } = fillArguments(root, { ...COMMON, ...values, ...named })
  const selections = together.map((path) => `${root.name}${uses} ${selectionOf(path)}`).join(' ')
  const answer = await server.query(`query ${declarations} { ${selections} }`, variables, token)
  return { answer, variables, where: `${root.name} ${together.map(selectionOf).join(' ')}` }
}

const TOGETHER_MAX = 8
const AT_ONCE = 6

/**
 * Walks all these ways as this user. Most of the time is the way there and back, so several are walked in one request;
 * if that has an error, which may have taken other fields with it, fewer are, and at last each alone.
 */
async function eachOf(
  ways: readonly FieldPath[],
  user: { values: Values; token: string },
  look: (asked: Asked) => void,
): Promise<void> {
  const alike = Map.groupBy(ways, ({ root, steps }) =>
    root.name.startsWith('node') ? `${root.name} ${steps[0]!.type.name}` : root.name,
  )
  const queue = [...alike.values()].flatMap((own) =>
    Array.from({ length: Math.ceil(own.length / TOGETHER_MAX) }, (_, n) =>
      own.slice(n * TOGETHER_MAX, (n + 1) * TOGETHER_MAX),
    ),
  )
  const worker = async () => {
    for (let some = queue.shift(); some !== undefined; some = queue.shift()) {
      const asked = await ask(some, user.values, user.token)
      const half = Math.ceil(some.length / 2)
      if (half < some.length && asked.answer.errors !== undefined) queue.push(some.slice(0, half), some.slice(half))
      else look(asked)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

const timesIn = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0

describe('queries', () => {
  test('all fields but those with arguments of their own are walked', () => {
    const walked = new Set(
      paths.flatMap(({ steps }) =>
        steps.flatMap(({ type, field }) =>
          field
            ? [fieldName(type, field)]
            : leavesOf(type)
                .split(' ')
                .map((leaf) => `${type.name}.${leaf}`),
        ),
      ),
    )
    const reachable = new Set(paths.flatMap(({ steps }) => steps.map(({ type }) => type)))
    const all = [...reachable].flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => !needsArguments(field))
        .map((field) => fieldName(type, field)),
    )
    expect(all.filter((name) => !walked.has(name))).toEqual([])
    expect(all.length).toBeGreaterThan(250)
  })

  test('through its own things and edges show a tenant its own things, and nothing else', async () => {
    const seen = new Set<string>()
    const found: string[] = []
    let names = 0
    await eachOf(paths, { values: theirs.values, token: theirs.member }, (asked) => {
      check(asked, found)
      const text = JSON.stringify(asked.answer.data ?? null)
      for (const secret of theirs.secrets) if (text.includes(secret)) seen.add(secret)
      names += timesIn(text, /"HIDDEN"|secretEnviron\.HIDDEN/g)
      for (const value of theirs.hidden) if (text.includes(value)) found.push(`${asked.where}: ${value}`)
    })
    expect(found).toEqual([])
    // Which secret variables there are, and which of them changed, is seen; the values are not.
    expect(names).toBeGreaterThan(5)
    // A webhook's secret is shown once, when it is made; tokens are shown to administrators.
    const hidden = theirs.secrets.filter((secret) => !seen.has(secret))
    expect(hidden.filter((secret) => !secret.startsWith('whsec_') && !theirs.tokenIds.includes(secret))).toEqual([])
  })

  test('by name and id show another tenant nothing', async () => {
    const found: string[] = []
    const named = paths.filter(({ root }) => root.args.length > 0)
    expect(named.length).toBeGreaterThan(100)
    await eachOf(named, { values: ours.values, token: theirs.member }, (asked) => check(asked, found))
    expect(found).toEqual([])
  })

  test('show a viewer the history, and no value of an environment', async () => {
    const found: string[] = []
    let redacted = 0
    await eachOf(paths, { values: ours.values, token: ours.viewer }, ({ answer, where }) => {
      const text = JSON.stringify(answer)
      // A field that the role may not read leaves the rest of the answer unchanged.
      if (answer.data === null) found.push(`${where} takes all with it: ${text}`)
      redacted += timesIn(text, /\[redacted\]/g)
      for (const value of [...ours.environs, ...ours.hidden]) if (text.includes(value)) found.push(`${where}: ${value}`)
    })
    expect(found).toEqual([])
    expect(redacted).toBeGreaterThan(10)
  })

  function check({ answer, variables, where }: Asked, found: string[]): void {
    for (const secret of leaked(answer, ours, variables)) found.push(`${where}: ${secret}`)
    if (JSON.stringify(answer.errors ?? []).includes('INTERNAL')) found.push(`${where}: a fault of the server`)
  }

  test('show strangers and agents nothing at all', async () => {
    const agent = await server.factory.token({ role: 'AGENT' })
    for (const field of Object.values(Query.getFields())) {
      const path = paths.find(({ root }) => root === field) ?? { root: field, steps: [] }
      const { declarations, uses, variables } = fillArguments(field, {
        ...COMMON,
        ...ours.values,
        'node.id': globalId('Session', ours.values),
        'nodes.ids': [globalId('Session', ours.values)],
      })
      const selection = path.steps.length === 0 ? '' : selectionOf(path)
      for (const [token, status] of [
        [null, 401],
        [agent, 403],
      ] as const) {
        const answer = await server.query(
          `query ${declarations} { ${field.name}${uses} ${selection} }`,
          variables,
          token,
        )
        expect([field.name, answer.status, answer.data ?? null]).toEqual([field.name, status, null])
      }
    }
  })
})

/** Mutations that only make a link with which a reader reads. */
const FOR_READERS = ['createDownload']

describe('mutations', () => {
  const fields = Object.values(Mutation.getFields())

  function operation(field: (typeof fields)[number], values: Values) {
    const { declarations, uses, variables } = fillArguments(field, { ...COMMON, ...values })
    return {
      text: `mutation ${declarations} { ${field.name}${uses} { __typename ${resultOf(getNamedType(field.type))} } }`,
      variables,
    }
  }

  function resultOf(type: unknown): string {
    if (!isAbstractType(type)) return ''
    const members = schema.getPossibleTypes(type)
    const payload = members.find(({ name }) => name.endsWith('Payload'))!
    const nodes = Object.values(payload.getFields()).filter(({ type: of }) => isObjectType(getNamedType(of)))
    return `... on Error { code message } ... on ${payload.name} { ${[leavesOf(payload), ...nodes.map(({ name, type: of }) => `${name} { ${leavesOf(getNamedType(of) as GraphQLObjectType)} }`)].join(' ')} }`
  }

  async function rowsOf({ projectId }: Tenant): Promise<unknown> {
    const { rows } = await server.db.query(
      `SELECT (SELECT md5(string_agg(s::text, '' ORDER BY id)) FROM sessions s WHERE project_id = $1) AS sessions,
        (SELECT md5(string_agg(d::text, '' ORDER BY session_id)) FROM retry_decisions d WHERE project_id = $1) AS decisions,
        (SELECT md5(string_agg(w::text, '' ORDER BY id)) FROM webhooks w WHERE project_id = $1) AS webhooks,
        (SELECT count(*) FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE w.project_id = $1) AS deliveries,
        (SELECT md5(string_agg((t.id, t.revoked_at)::text, '' ORDER BY id)) FROM api_tokens t WHERE project_id = $1) AS tokens,
        (SELECT md5(string_agg(r::text, '' ORDER BY id)) FROM resubmissions r WHERE project_id = $1) AS resubmissions,
        (SELECT md5(string_agg(d::text, '' ORDER BY id)) FROM deployments d WHERE project_id = $1) AS deployments,
        (SELECT md5(string_agg(s::text, '' ORDER BY id)) FROM schedules s WHERE project_id = $1) AS schedules,
        (SELECT md5(string_agg(g::text, '' ORDER BY id)) FROM session_groups g WHERE project_id = $1) AS session_groups,
        (SELECT md5(string_agg(g::text, '' ORDER BY id)) FROM failure_groups g WHERE project_id = $1) AS failure_groups,
        (SELECT count(*) FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id WHERE s.project_id = $1) AS runs,
        (SELECT md5(string_agg(g::text, '' ORDER BY name)) FROM resource_groups g) AS groups,
        (SELECT md5(string_agg((a.id, a.status)::text, '' ORDER BY id)) FROM agents a) AS agents,
        (SELECT md5(string_agg(p::text, '' ORDER BY p::text)) FROM resource_policies p) AS policies,
        (SELECT count(*) FROM projects) AS projects, (SELECT count(*) FROM users) AS users`,
      [projectId],
    )
    return rows[0]
  }

  test.each(fields.map((field) => [field.name, field] as const))(
    '%s: another tenant changes and learns nothing',
    async (_name, field) => {
      const before = await rowsOf(ours)
      const { text, variables } = operation(field, ours.values)
      const answer = await server.query(text, variables, theirs.member)
      expect(leaked(answer, ours, variables)).toEqual([])
      expect(answer.errors?.map(({ message }) => message) ?? []).toEqual([])
      expect(await rowsOf(ours)).toEqual(before)
    },
  )

  const changing = fields.filter(({ name }) => !FOR_READERS.includes(name))

  test.each(changing.map((field) => [field.name, field] as const))('%s: a viewer is refused', async (_name, field) => {
    const before = await rowsOf(ours)
    const { text, variables } = operation(field, ours.values)
    const answer = await server.query(text, variables, ours.viewer)
    expect(answer.data?.[field.name]).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
    expect(await rowsOf(ours)).toEqual(before)
  })

  test.each(fields.map((field) => [field.name, field] as const))('%s: a stranger is refused', async (_name, field) => {
    const { text, variables } = operation(field, ours.values)
    expect(await server.query(text, variables, null)).toMatchObject({ status: 401 })
  })
})

describe('subscriptions', () => {
  test.each(Object.values(Subscription.getFields()).map((field) => [field.name, field] as const))(
    '%s delivers nothing to another tenant',
    async (_name, field) => {
      const type = getNamedType(field.type) as GraphQLObjectType
      const session = type.getFields()['session'] ? 'session { name environ { value } }' : ''
      const connection = connect(server.url, theirs.member)
      for (const values of [ours.values, {}]) {
        const filled = { ...COMMON, ...values }
        if (needsArguments(field) && values !== ours.values) continue
        const { declarations, uses, variables } = fillArguments(field, filled)
        const stream = connection.subscribe(
          `subscription ${declarations} { ${field.name}${uses} { ${leavesOf(type)} ${session} } }`,
          variables,
        )
        let heard: { value?: unknown } | undefined
        void stream.next().then(
          (event) => (heard = event),
          (error: unknown) => (heard = { value: error }),
        )
        // Nobody is told when the server has a subscription, so things happen until one of them is heard.
        await eventually(async () => {
          await causeEvents(server, ours)
          await causeEvents(server, theirs)
          return heard !== undefined
        })
        const { value } = heard!
        expect(leaked(value, ours, variables)).toEqual([])
      }
      await connection.close()
    },
  )

  test.each(Object.values(Subscription.getFields()).map((field) => [field.name, field] as const))(
    '%s delivers no value of an environment to a viewer',
    async (_name, field) => {
      const type = getNamedType(field.type) as GraphQLObjectType
      const session = type.getFields()['session'] ? 'session { name environ { value } }' : ''
      const { declarations, uses, variables } = fillArguments(field, { ...COMMON, ...ours.values })
      const connection = connect(server.url, ours.viewer)
      const stream = connection.subscribe(
        `subscription ${declarations} { ${field.name}${uses} { ${leavesOf(type)} ${session} } }`,
        variables,
      )
      let heard: { value?: unknown } | undefined
      void stream.next().then((event) => (heard = event))
      await eventually(async () => {
        await causeEvents(server, ours)
        return heard !== undefined
      })
      const text = JSON.stringify(heard!.value)
      expect(text).toContain('"data"')
      expect(ours.environs.filter((value) => text.includes(value))).toEqual([])
      await connection.close()
    },
  )
})

describe('REST', () => {
  let routes: { method: string; path: string }[]

  beforeAll(async () => {
    const document = (await (await fetch(`${server.url}/v2/openapi.json`)).json()) as { paths: Record<string, object> }
    routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    )
  })

  async function call(method: string, template: string, token: string | null) {
    const { path, body } = restRequest(ours, method, template)
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const response = await fetch(`${server.url}${path}`, { method, headers, ...(body && { body }) })
    const text = await textOfAnswer(response)
    const isText = response.headers.get('content-type')?.startsWith('text/')
    return { status: response.status, body: isText ? text : (JSON.parse(text) as unknown) }
  }

  test('shows another tenant nothing', async () => {
    expect(routes.length).toBeGreaterThanOrEqual(5)
    for (const { method, path } of routes) {
      const { status, body } = await call(method, path, theirs.member)
      const { sessionId, deploymentId, kernelId, chainId, resubmissionId, groupId } = ours.values
      // The reason that it gave for its own terminations.
      const reason = isBulk(path) && !path.includes('{') && ours.values['reason']
      const codeSha256 = path.startsWith('/v2/code') && ours.values['codeSha256']
      const asked = {
        codeSha256,
        project: ours.project,
        sessionId,
        deploymentId,
        kernelId,
        chainId,
        resubmissionId,
        groupId,
        webhookId: ours.values['webhook.id'],
        reason,
      }
      expect([method, path, leaked(body, ours, asked)]).toEqual([method, path, []])
      // Agents are everybody's, and what is done to sessions that one does not see is refused one by one.
      const own =
        (method === 'GET' && !path.includes('{')) || /agents|backtest$|v2.(bulk-actions|resubmissions)$/.test(path)
      const isForAdministrators =
        path.startsWith('/v2/tokens') || (/^\/v2\/(?:quotas|failure-rules|advice)/.test(path) && method !== 'GET')
      if (!own) expect([method, path, status]).toEqual([method, path, isForAdministrators ? 403 : 404])
    }
  })

  test('shows a viewer no value of an environment', async () => {
    let redacted = 0
    for (const { method, path } of routes.filter((route) => route.method === 'GET')) {
      const text = JSON.stringify((await call(method, path, ours.viewer)).body)
      redacted += Number(text.includes('[redacted]'))
      expect([path, [...ours.environs, ...ours.hidden].filter((value) => text.includes(value))]).toEqual([path, []])
    }
    expect(redacted).toBeGreaterThanOrEqual(4)
  })

  test('refuses viewers every change, and strangers everything', async () => {
    for (const { method, path } of routes) {
      expect((await call(method, path, null)).status).toBe(401)
      const isChange = method !== 'GET' && !/\/(?:wait|backtest)$/.test(path)
      if (isChange) expect([path, (await call(method, path, ours.viewer)).status]).toEqual([path, 403])
    }
  })
})

test('an idempotency key of another tenant is free for one’s own', async () => {
  const creationId = 'the-same-key'
  const create = (tenant: Tenant) =>
    server.query(
      'mutation ($input: CreateSessionInput!) { createSession(input: $input) { ... on CreateSessionPayload { created session { sessionId } } } }',
      { input: { name: 'keyed', command: ['true'], project: tenant.project, creationId } },
      tenant.member,
    )
  const [a, b] = [await create(ours), await create(theirs)]
  expect([a.data.createSession.created, b.data.createSession.created]).toEqual([true, true])
  expect(a.data.createSession.session.sessionId).not.toBe(b.data.createSession.session.sessionId)
})
