import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import { addressesOf } from '../../../src/agent/executors/container/session-networks.ts'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { lastingPort } from '../../support/agents/lasting-port.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { networksOfAgent } from '../../support/containers/networks-of-agent.ts'
import { startEngine } from '../../support/containers/private-engine.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'

const HOSTS = 'main1=192.0.2.4,sub1=192.0.2.4'

test.each([
  ['172.18.0.0/16', 3, ['172.18.0.2', '172.18.0.3', '172.18.0.4']],
  ['10.89.255.248/29', 5, ['10.89.255.250', '10.89.255.251', '10.89.255.252', '10.89.255.253', '10.89.255.254']],
  ['10.89.255.248/29', 6, null],
  ['10.0.0.254/23', 3, ['10.0.1.0', '10.0.1.1', '10.0.1.2']],
  ['fd00::/64', 1, null],
  ['', 1, null],
])('addresses of %s for %i kernels', (subnet, count, addresses) => {
  expect(addressesOf(subnet, count)).toEqual(addresses)
})

describeEngines('kernels of one session in containers of %s', (name) => {
  const missing = whyNoEngine(name)
  let engine: ContainerEngine
  let fixture: ContainerFixture
  let executor: Executor

  const open = async () => {
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
  }
  const networks = (agentId = fixture.agentId) => networksOfAgent(engine, agentId)

  beforeEach(async () => {
    if (missing !== null) return
    engine = await sharedEngine(name)
    fixture = await createContainerFixture(engine, { pull: 'never', network: 'default' })
    await open()
  })
  afterEach(async () => {
    if (missing !== null) return
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
  })

  function pair(port: number) {
    const sessionId = uuidv7()
    const environ = [{ name: 'REPRISE_CLUSTER_HOSTS', value: HOSTS }]
    const common = { sessionId, environ, gang: { size: 2, singleNode: true } }
    const serve = `echo from main1 >index.html; exec httpd -f -p ${port} -h "$PWD"`
    const ask = `until wget -qO- http://main1:${port}/; do sleep 0.1; done; echo "$REPRISE_CLUSTER_HOSTS"`
    return {
      sessionId,
      main: kernelSpec({ ...common, command: ['sh', '-c', serve] }),
      sub: kernelSpec({ ...common, role: 'sub', command: ['sh', '-c', ask] }),
    }
  }

  test.skipIf(missing !== null)('know each other by name, in a network that goes with the last of them', async () => {
    const { sessionId, main, sub } = pair(8080)
    for (const spec of [sub, main]) executor.start(spec, 1)
    await reaches(executor, sub.kernelId, 'EXITED')
    expect((await readAll(executor, sub.kernelId, 'STDOUT')).text).toBe('from main1\nmain1=main1,sub1=sub1\n')
    expect(await networks()).toEqual([`reprise-${sessionId}`])

    executor.forget(sub.kernelId, 1)
    await eventually(() => executor.observe().length === 1)
    await executor.close()
    await open()
    await reaches(executor, main.kernelId, 'RUNNING')
    expect(await networks()).toEqual([`reprise-${sessionId}`])
    executor.forget(main.kernelId, 1)
    await eventually(async () => (await networks()).length === 0)
  })

  test.skipIf(missing !== null)('one that is made while another is removed goes, too', async () => {
    let holds = true
    await using slow = await slowDown(engine.socket, (request) =>
      holds && /^DELETE \S*\/networks\/reprise-.{36}$/.test(request) ? 'request' : null,
    )
    const own = await createContainerFixture({ ...engine, socket: slow.socket }, { pull: 'never', network: 'default' })
    const slowed = own.create({ changed: () => undefined })
    await slowed.recover()
    const [first, second] = [pair(8080), pair(8080)]
    slowed.start(first.main, 1)
    await reaches(slowed, first.main.kernelId, 'RUNNING')
    slowed.forget(first.main.kernelId, 1)
    await eventually(() => slow.asked().length > 0)
    slowed.start(second.main, 1)
    await reaches(slowed, second.main.kernelId, 'RUNNING')
    holds = false
    slow.passOn(true)
    await eventually(async () => (await networks(own.agentId)).join() === `reprise-${second.sessionId}`)
    slowed.forget(second.main.kernelId, 1)
    await eventually(async () => (await networks(own.agentId)).length === 0)
    await slowed.close()
    await own.dispose()
  })

  test.skipIf(missing !== null)('a network that a crash has left is collected, and no other', async () => {
    const create = async (label: string) => {
      const Labels = { 'reprise.agent': label, 'reprise.session': uuidv7() }
      const Name = `reprise-${Labels['reprise.session']}`
      expect((await engine.call('POST', '/networks/create', { Name, Labels })).status).toBeOneOf([200, 201])
      return Name
    }
    await executor.close()
    const own = await create(fixture.agentId)
    const otherId = uuidv7()
    const others = await create(otherId)
    expect(await networks()).toEqual([own])
    await open()
    await eventually(async () => (await networks()).length === 0)
    expect(await networks(otherId)).toEqual([others])
    await engine.call('DELETE', `/networks/${others}`)
  })

  test.skipIf(missing !== null || name === 'podman')(
    'wait for a network of their own where the engine has none left, and never get that of the machine',
    async () => {
      await using full = await startEngine(name, { ofRun: inject('runDirectory'), bridge: true })
      let taken = 0
      while ((await full.call('POST', '/networks/create', { Name: `taken-${taken}` })).status < 400) taken++
      expect(taken).toBeGreaterThan(0)
      const own = await createContainerFixture(full, { pull: 'never', network: 'default' })
      const agent = own.create({ changed: () => undefined })
      await agent.recover()
      const { main, sub } = pair(await lastingPort())
      for (const spec of [main, sub]) agent.start(spec, 1)
      const notes = () => agent.observe().map(({ status, waiting }) => `${status} ${waiting?.reason}`)
      const waiting = 'PREPARED the container engine has no network left for the kernels of this session'
      await eventually(() => notes().every((each) => each === waiting))
      expect(await full.call('GET', '/containers/json?all=true')).toMatchObject({
        text: expect.stringMatching(/^\[\]\s*$/),
      })
      await full.call('DELETE', '/networks/taken-0')
      await reaches(agent, sub.kernelId, 'EXITED')
      expect((await readAll(agent, sub.kernelId, 'STDOUT')).text).toBe('from main1\nmain1=main1,sub1=sub1\n')
      for (const { kernelId } of [main, sub]) agent.forget(kernelId, 1)
      await eventually(() => agent.observe().length === 0)
      await agent.close()
      await own.dispose()
    },
  )
})
