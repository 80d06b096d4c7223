/** What the kernels of one session on several agents learn of each other. */
import { expect, it } from 'vitest'
import { chainRows } from '../../support/database/session-rows.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { waitForAll } from './wait-for-all.ts'

const given = useAgentProgram()

/** What each kernel of a session printed, with the address of the agent that it was on. */
async function printed(sessionId: string): Promise<{ name: string; address: string; text: string }[]> {
  const { rows } = await given.db.query<{ id: string; name: string; address: string }>(
    `SELECT k.id, k.role || k.index AS name, a.address FROM kernels k JOIN agents a ON a.id = k.agent_id
     WHERE k.session_id = $1 ORDER BY k.role, k.index`,
    [sessionId],
  )
  return Promise.all(rows.map(async ({ id, ...kernel }) => ({ ...kernel, text: await given.text(id) })))
}

const SAYS = `echo $REPRISE_KERNEL_NAME $REPRISE_KERNEL_ROLE $REPRISE_KERNEL_INDEX $REPRISE_CLUSTER_RANK \\
  $REPRISE_CLUSTER_MODE $REPRISE_CLUSTER_SIZE $REPRISE_CLUSTER_HOSTS`

it('the kernels of a session on several agents learn what they are and where the others are, in each attempt', async () => {
  const { newAgent, create, reaches, db } = given
  const places = await Promise.all(
    ['10.0.0.1', 'node-b'].map(async (address) => ({ agentDir: await temporaryDirectory('agent'), address })),
  )
  for (const elsewhere of places) await newAgent({ cpu: '2', elsewhere }).start()
  const meet = waitForAll(await temporaryDirectory('meet'), 4)
  const { sessionId } = await create(['sh', '-c', `${SAYS}; ${meet}; test $REPRISE_ATTEMPT = 2`], {
    clusterSize: 4,
    clusterMode: 'MULTI_NODE',
    retryPolicy: { maxRetries: 1, retryDelay: 0.05 },
  })
  await reaches(sessionId, 'ERROR')
  await expect.poll(async () => (await chainRows(db, sessionId)).length, { timeout: 120_000 }).toBe(2)
  const [, second] = await chainRows(db, sessionId)
  await reaches(second!.id, 'TERMINATED')
  for (const id of [sessionId, second!.id]) {
    const kernels = await printed(id)
    expect(kernels.map(({ name }) => name)).toEqual(['main1', 'sub1', 'sub2', 'sub3'])
    expect(new Set(kernels.map(({ address }) => address))).toEqual(new Set(places.map(({ address }) => address)))
    const hosts = kernels.map(({ name, address }) => `${name}=${address}`).join(',')
    const said = kernels.filter(({ text }) => text !== '')
    expect(said.length).toBeGreaterThanOrEqual(id === sessionId ? 1 : 4)
    for (const { name, text } of said) {
      const [, role, index] = /^(main|sub)(\d)$/.exec(name)!
      const rank = role === 'main' ? 0 : index
      expect(text.trim()).toBe(`${name} ${role} ${index} ${rank} MULTI_NODE 4 ${hosts}`)
    }
  }
})
