import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRemoteFleet, type RemoteFleet } from '../remote/remote-fleet.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { runs, watchedDeployment, type SeenRoute } from './watched-deployment.ts'

/** Deployments on a server and agents, each a process of its own, of programs that serve HTTP. */

let fleet: RemoteFleet
let token: string
let near: SpawnedProgram

const AGENT = ['--address', '127.0.0.1']

beforeAll(async () => {
  fleet = await startRemoteFleet()
  token = await fleet.token()
  near = await fleet.startAgent({ name: 'near', token, args: AGENT })
})
afterAll(() => fleet[Symbol.asyncDispose]())

const idsOf = (routes: readonly SeenRoute[]) => routes.map(({ id }) => id)

/** From the last time on that it became healthy: checks of a slow start may have failed before. */
function sinceHealthy(story: readonly string[]): readonly string[] {
  return story.slice(story.findLastIndex((line) => line.includes('→ HEALTHY')))
}

/** At the second failed check; a handler that looks later has seen more. */
function unhealthyBecause(outcome: string): unknown {
  return expect.stringMatching(
    new RegExp(`^health-check-route FAILURE HEALTHY → UNHEALTHY: \\d+ health checks in a row failed: ${outcome}$`),
  )
}

test('a deployment keeps its number of replicas, however one of them fails', async () => {
  const deployment = await watchedDeployment(fleet, { name: 'keeps', replicas: 0 })
  await deployment.settled(0)
  await deployment.scale(3)
  const three = await deployment.settled(3)
  const answers = await Promise.all(three.map(deployment.ask))
  expect(new Set(answers.map(({ pid }) => pid)).size).toBe(3)
  expect(answers.map(({ port }) => port)).toEqual(three.map(({ port }) => port))

  process.kill(answers[0]!.pid, 'SIGKILL')
  await deployment.until('the killed one is noticed', ({ routes }) => !idsOf(routes).includes(three[0]!.id))
  await deployment.tell(answers[1]!.pid, '500')
  await deployment.tell(answers[2]!.pid, 'hang')
  await deployment.until('all have gone', ({ routes }) => !three.some(({ id }) => idsOf(routes).includes(id)))
  const again = await deployment.settled(3)
  expect(await Promise.all(again.map(deployment.ask))).toMatchObject([
    { version: '1' },
    { version: '1' },
    { version: '1' },
  ])

  const [killed, failing, hanging] = await Promise.all(three.map(({ id }) => deployment.story(id)))
  expect(killed!.slice(0, 2)).toEqual([
    'scaling-deployment SUCCESS new → PROVISIONING',
    'provisioning-route SUCCESS PROVISIONING → DEGRADED: it has not been checked yet',
  ])
  // A check that fails meanwhile may be the first to notice.
  const noticed = sinceHealthy(killed!).filter((line) => !line.startsWith('health-check-route FAILURE'))
  expect(noticed).toEqual([
    expect.stringMatching(/^health-check-route SUCCESS \w+ → HEALTHY: a health check succeeded$/),
    'service-discovery-sync SUCCESS in HEALTHY: clients are sent to it',
    expect.stringMatching(/^running-route FAILURE (?:UN)?HEALTHY → TERMINATING: its session /),
    expect.stringMatching(/^terminating-route SUCCESS TERMINATING → TERMINATED/),
  ])
  expect(failing!.slice(-3)).toEqual([
    unhealthyBecause('it answered 500'),
    'route-eviction SUCCESS UNHEALTHY → TERMINATING: it was unhealthy for 5 s: it answered 500',
    expect.stringMatching(/^terminating-route SUCCESS TERMINATING → TERMINATED/),
  ])
  const [, ...afterHealthy] = sinceHealthy(hanging!)
  expect(afterHealthy.filter((line) => /^(health-check|route-eviction).*UNHEALTHY/.test(line))).toEqual([
    unhealthyBecause('it did not answer within 3 s'),
    'route-eviction SUCCESS UNHEALTHY → TERMINATING: it was unhealthy for 5 s: it did not answer within 3 s',
  ])

  await deployment.scale(1)
  const [left] = await deployment.settled(1)
  expect(left!.id).toBe(again[0]!.id)
  const { pid } = await deployment.ask(left!)
  await deployment.destroy()
  await deployment.until('it is destroyed', ({ status, routes }) => status === 'DESTROYED' && routes.length === 0)
  await eventually(async () => !(await runs(pid)))
  const moves = (await deployment.story()).filter((line) => line.includes('→')).map((line) => line.split(':')[0])
  expect(moves.slice(0, 4)).toEqual([
    'check-pending-deployment SUCCESS PENDING → SCALING',
    'scaling-deployment SUCCESS SCALING → READY',
    'check-replica-deployment SUCCESS READY → SCALING',
    'scaling-deployment SUCCESS SCALING → READY',
  ])
  expect(moves.at(-1)).toBe('destroying-deployment SUCCESS DESTROYING → DESTROYED')
})

test('an update refuses no request, and enough replicas stay healthy', async () => {
  const deployment = await watchedDeployment(fleet, {
    name: 'rolls',
    replicas: 4,
    minHealthy: 3,
    maxSurge: 1,
    drain: 10,
    patient: true,
  })
  await deployment.settled(4)
  await using client = await startClient(deployment)
  await deployment.update('2')
  await deployment.until('the update has begun', ({ routes }) => routes.some(({ revision }) => revision === 2))
  const updated = await deployment.settled(4)
  expect(updated.map(({ revision }) => revision)).toEqual([2, 2, 2, 2])
  await client.sees('2')
  expect(client.faults).toEqual([])
  expect(client.leastHealthy).toBeGreaterThanOrEqual(3)
  expect(client.mostLive).toBeLessThanOrEqual(5)
  expect(client.answers).toBeGreaterThan(50)
  await deployment.destroy()
})

test('a killed server finds everything as it was after its restart, and goes on', async () => {
  const deployment = await watchedDeployment(fleet, { name: 'restarts', replicas: 2, patient: true })
  const two = await deployment.settled(2)
  await deployment.scale(4)
  await deployment.until('it has begun to scale', ({ routes }) => routes.length > 2)
  await fleet.server.kill()
  process.kill((await deployment.ask(two[0]!)).pid, 'SIGKILL')
  await fleet.restartServer()
  const four = await deployment.settled(4)
  expect(idsOf(four), (await deployment.story(two[1]!.id)).join('\n')).toContain(two[1]!.id)
  expect(idsOf(four)).not.toContain(two[0]!.id)
  // Nobody checked them for a while, and nobody was kept from them by that.
  expect(await deployment.story(two[1]!.id)).toHaveLength(4)
  await deployment.destroy()
})

test('a failing command is started less and less often, until it is mended', async () => {
  const deployment = await watchedDeployment(fleet, { name: 'broken', replicas: 2, command: ['sh', '-c', 'exit 7'] })
  const seen = await deployment.until('it has failed thrice', ({ failures }) => failures >= 3, 60_000)
  expect(seen.reason).toMatch(/^0 of 2 replicas of revision 1 are healthy/)
  // Each wave is of two, begun at least 1, 2 and then 4 s after the one before.
  const begun = await fleet.sql(
    `SELECT extract(epoch FROM created_at)::float8 AS at FROM routes WHERE deployment_id = '${deployment.id}' ORDER BY 1`,
  )
  expect(begun.length).toBeLessThanOrEqual(6)
  expect(begun[2]!['at'] - begun[1]!['at']).toBeGreaterThan(0.9)
  expect(begun[4]!['at'] - begun[3]!['at']).toBeGreaterThan(1.9)
  const { reason, failures } = await deployment.until('it says when it goes on', (now) =>
    / is started /.test(now.reason ?? ''),
  )
  // After 4 s, or 8 where this looks so late that it has failed once more.
  expect(reason).toMatch(
    /^0 of 2 replicas of revision 1 are healthy; the next is started (?:4|5|8|9|10)\.\d s after the last of /,
  )
  expect(reason).toContain(`the last of ${failures} failures in a row`)
  await deployment.update('2')
  expect(await deployment.look()).toMatchObject({ failures: 0 })
  await deployment.settled(2)
  await deployment.destroy()
})

test('replicas of a lost agent start elsewhere', async () => {
  const far = await fleet.startAgent({ name: 'far', token, args: AGENT })
  const deployment = await watchedDeployment(fleet, { name: 'moves', replicas: 4, patient: true })
  const four = await deployment.settled(4)
  const lost = four.filter(({ agent }) => agent === 'far')
  expect(lost.length).toBeGreaterThan(0)
  const left = await Promise.all(lost.map(async (route) => (await deployment.ask(route)).pid))
  await far.kill()
  await deployment.until('it is lost', ({ routes }) => !routes.some(({ id }) => idsOf(lost).includes(id)))
  const again = await deployment.settled(4)
  expect(again.map(({ agent }) => agent)).toEqual(['near', 'near', 'near', 'near'])
  expect((await deployment.story(lost[0]!.id)).slice(4).join('\n')).toMatch(
    /running-route FAILURE \w+ → TERMINATING: its session .*agent far was silent/,
  )
  await deployment.destroy()
  await deployment.until('it is destroyed', ({ status }) => status === 'DESTROYED')
  // An agent that comes back stops what it had.
  const back = await fleet.startAgent({ name: 'far', token, args: AGENT })
  await eventually(async () => (await Promise.all(left.map(runs))).every((running) => !running))
  await back.stop()
  expect(near.log.join('\n')).not.toContain('"level":50')
})

/** Asks one of the published routes every 20 ms, as a proxy does that looks at them ten times a second. */
async function startClient(deployment: Awaited<ReturnType<typeof watchedDeployment>>) {
  const faults: string[] = []
  const versions = new Set<string>()
  const asking = new Set<Promise<void>>()
  const counts = { answers: 0, leastHealthy: Infinity, mostLive: 0 }
  let endpoints: { host: string; port: number }[] = []
  const ended = new AbortController()

  async function look(): Promise<void> {
    endpoints = await deployment.endpoints()
    const { routes } = await deployment.look()
    counts.leastHealthy = Math.min(counts.leastHealthy, routes.filter(({ status }) => status === 'HEALTHY').length)
    const live = routes.filter(({ status }) => status !== 'TERMINATING' && status !== 'FAILED_TO_START')
    counts.mostLive = Math.max(counts.mostLive, live.length)
  }
  async function looking(): Promise<void> {
    while (!ended.signal.aborted) await Promise.all([look(), pause(100)])
  }
  async function ask(route: { host: string; port: number }): Promise<void> {
    try {
      versions.add((await deployment.ask(route)).version)
      counts.answers += 1
    } catch (error) {
      faults.push(`${route.host}:${route.port}: ${String((error as Error).cause ?? error)}`)
    }
  }
  await look()
  const looks = looking()
  const timer = setInterval(() => {
    const route = endpoints[Math.floor(Math.random() * endpoints.length)]
    if (!route) return void faults.push('there is no endpoint')
    const one = ask(route).finally(() => asking.delete(one))
    asking.add(one)
  }, 20)
  return {
    faults,
    get answers() {
      return counts.answers
    },
    get leastHealthy() {
      return counts.leastHealthy
    },
    get mostLive() {
      return counts.mostLive
    },
    sees: (version: string) => eventually(() => versions.has(version), { what: `an answer of version ${version}` }),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      ended.abort()
      await Promise.all([looks, ...asking])
    },
  }
}
