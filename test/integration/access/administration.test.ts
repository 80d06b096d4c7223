/** Mutations of administrators on resource groups and agents. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const GROUP = `name sequencer selector maxTries maxReschedules pendingTimeout prepareTimeout createTimeout queueTimeout
  terminateTimeout fenceAfter stopGrace allowedSessionTypes draining drainReason drainedAt`

async function mutate(name: string, input: object, fields: string) {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const { data, errors } = await server.query(
    `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { ${fields} }
      ... on Error { code } } }`,
    { input },
  )
  expect(errors).toBeUndefined()
  return data[name]
}

test('a resource group is made, drained and deleted', async () => {
  const options = {
    name: 'gpu',
    sequencer: 'LIFO',
    selector: 'ROUND_ROBIN',
    maxTries: 2,
    maxReschedules: 0,
    pendingTimeout: 1.5,
    prepareTimeout: null,
    createTimeout: 60,
    queueTimeout: 7200,
    terminateTimeout: 30,
    fenceAfter: 45,
    stopGrace: 0,
    allowedSessionTypes: ['INFERENCE'],
  }
  const made = { ...options, draining: false, drainReason: null, drainedAt: null }
  expect(await mutate('createResourceGroup', options, `resourceGroup { ${GROUP} }`)).toEqual({
    __typename: 'CreateResourceGroupPayload',
    resourceGroup: made,
  })
  const drained = { name: 'gpu', draining: true, drainReason: 'moving' }
  expect(await mutate('updateResourceGroup', drained, `resourceGroup { ${GROUP} }`)).toEqual({
    __typename: 'UpdateResourceGroupPayload',
    resourceGroup: { ...made, ...drained, drainedAt: expect.any(String) },
  })
  const names = async () => (await server.query('{ resourceGroups { name } }')).data.resourceGroups
  expect(await names()).toEqual([{ name: 'default' }, { name: 'gpu' }])
  expect(await mutate('deleteResourceGroup', { name: 'gpu' }, 'name')).toEqual({
    __typename: 'DeleteResourceGroupPayload',
    name: 'gpu',
  })
  expect(await names()).toEqual([{ name: 'default' }])
  expect(await mutate('deleteResourceGroup', { name: 'default' }, 'name')).toMatchObject({
    __typename: 'InvalidStateError',
    code: 'RESOURCE_GROUP_IN_USE',
  })
})

test('an agent is drained, resumed and removed', async () => {
  const agentId = await server.factory.agent('worker')
  const fields = 'agent { name status drainReason drainedAt }'
  expect(await mutate('drainAgent', { agentId, reason: 'repair' }, fields)).toEqual({
    __typename: 'DrainAgentPayload',
    agent: { name: 'worker', status: 'DRAINING', drainReason: 'repair', drainedAt: expect.any(String) },
  })
  const resumed = { name: 'worker', status: 'ALIVE', drainReason: null, drainedAt: null }
  expect(await mutate('resumeAgent', { agentId }, fields)).toMatchObject({ agent: resumed })
  expect(await mutate('removeAgent', { agentId }, fields)).toMatchObject({ code: 'AGENT_IN_USE' })
  await mutate('drainAgent', { agentId }, fields)
  expect(await mutate('removeAgent', { agentId }, fields)).toMatchObject({ agent: { status: 'TERMINATED' } })
  expect(await mutate('drainAgent', { agentId: randomUUID() }, fields)).toMatchObject({ code: 'AGENT_NOT_FOUND' })
})
