/** Other people are let in only where sessions are isolated, or where somebody has decided otherwise; what else is warned of. */
import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { createProject } from '../../../src/services/access/tenants.ts'
import { createToken } from '../../../src/services/access/tokens.ts'
import { readWarnings } from '../../../src/program/runtime-parts.ts'
import type { Warning } from '../../../src/domain/warning.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

async function register(
  isolation: { name: string; byHand: boolean } | undefined,
  agentId = uuidv7(),
  reported: Warning[] = [],
): Promise<string> {
  const request = {
    agentId,
    instanceId: uuidv7(),
    name: 'node-7',
    resourceGroup: 'default',
    address: 'node-7',
    version: 'test',
    slots: { cpu: '4' },
    labels: {},
    warnings: reported,
    ...(isolation !== undefined && { isolation }),
  }
  await given.server.gateway.register(request, new AbortController().signal)
  return agentId
}

const warnings = async () => (await readWarnings(given.db, [])).join('\n')
const project = () => createProject(given.server.context, { name: `project-${uuidv7()}` })
const member = () => createToken(given.server.context, { name: 'member', role: 'MEMBER', project: 'default' })

describe('an agent without isolation that nobody has configured so', () => {
  beforeEach(async () => void (await register({ name: 'none', byHand: false })))

  test.each([
    ['a second project', project],
    ['a token of a member', member],
  ])('%s is refused with the variable and the agent named', async (_, create) => {
    await expect(create()).rejects.toMatchObject({
      code: 'ISOLATION_REQUIRED',
      message: expect.stringMatching(/node-7.*REPRISE_ISOLATION=none/s),
    })
  })

  test('administrators are let in, and nobody is warned of them', async () => {
    await createToken(given.server.context, { name: 'ops', role: 'ADMIN' })
    expect(await warnings()).not.toContain('REPRISE_ISOLATION')
  })
})

test.each([
  ['one on which it was configured by hand', { name: 'none', byHand: true }],
  ['one with isolation', { name: 'namespaces+user', byHand: false }],
  ['one that does not tell', undefined],
])('%s keeps nobody out', async (_, isolation) => {
  await register(isolation)
  await project()
  await member()
})

test('what counts is what an agent has now', async () => {
  const agentId = await register({ name: 'none', byHand: false })
  await register({ name: 'user', byHand: false }, agentId)
  await member()
})

test('with a member and no isolation, whoever runs the server is warned, even where it was configured', async () => {
  await member()
  await register({ name: 'user', byHand: false })
  expect(await warnings()).not.toContain('REPRISE_ISOLATION')
  await register({ name: 'none', byHand: true })
  expect(await warnings()).toContain('REPRISE_ISOLATION')
})

test('what agents report is warned of, that any registry is allowed only with a second project', async () => {
  // This gateway registers the agents of servers, whose own warnings these have already.
  const ofRemote = async () => {
    await given.db.query('UPDATE agents SET embedded = false')
    return warnings()
  }
  const limits: Warning = { kind: 'limits', text: 'memory is not bounded' }
  const registries: Warning = { kind: 'registries', text: 'any registry is allowed' }
  const agentId = await register(undefined, uuidv7(), [limits, registries])
  await register(undefined, uuidv7(), [registries, limits])
  await register(undefined)
  expect(await ofRemote()).toContain('2 agents report: memory is not bounded')
  expect(await ofRemote()).not.toContain('any registry')
  await project()
  expect(await ofRemote()).toContain('2 agents report: any registry is allowed')
  await register(undefined, agentId)
  expect(await ofRemote()).toContain('an agent reports: any registry is allowed')
  await given.db.query(`UPDATE agents SET status = 'LOST'`)
  expect(await ofRemote()).not.toContain('report')
})

test('an agent cannot make the warnings long', async () => {
  const many = Array.from({ length: 21 }, (_, index): Warning => ({ kind: 'limits', text: `warning ${index}` }))
  await expect(register(undefined, uuidv7(), many)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  const long: Warning = { kind: 'limits', text: 'x'.repeat(501) }
  await expect(register(undefined, uuidv7(), [long])).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
})

describe('an agent that comes back with a weaker isolation', () => {
  const refusalOf = async (agentId: string) =>
    (
      await given.db.query<{ isolation: string; refuses: string | null }>(
        'SELECT isolation, refuses FROM agents WHERE id = $1',
        [agentId],
      )
    ).rows[0]

  test('is given no kernels, and says how that is accepted', async () => {
    const agentId = await register({ name: 'namespaces+user', byHand: false })
    await register({ name: 'none', byHand: false }, agentId)
    expect(await refusalOf(agentId)).toEqual({
      isolation: 'namespaces+user',
      refuses: expect.stringMatching(
        /by namespaces\+user before, and now by none; REPRISE_ISOLATION=none accepts that/,
      ),
    })
    const kernelsThere = async () =>
      (await given.db.query('SELECT FROM kernels WHERE agent_id = $1', [agentId])).rowCount
    for (let each = 0; each < 20; each++) await given.server.create({ command: ['true'] })
    await given.server.run('schedule-sessions')
    expect(await kernelsThere()).toBe(0)
    await register({ name: 'namespaces+user', byHand: false }, agentId)
    expect(await refusalOf(agentId)).toEqual({ isolation: 'namespaces+user', refuses: null })
  })

  test('is given them where somebody has configured it', async () => {
    const agentId = await register({ name: 'namespaces', byHand: false })
    await register({ name: 'none', byHand: true }, agentId)
    expect(await refusalOf(agentId)).toEqual({ isolation: 'none', refuses: null })
  })
})
