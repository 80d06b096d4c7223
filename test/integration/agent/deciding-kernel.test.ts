/** Which of two kernels on real agents decides how their session ended. */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { signalFile } from './signal-file.ts'

const given = useAgentProgram()

/** main1 and sub1 on agents of their own, which run these scripts; both run. */
async function runOnTwoAgents(scripts: { main: string; sub: string }) {
  const { newAgent, create, reaches, db } = given
  const places = await Promise.all(
    ['10.0.0.1', '10.0.0.2'].map(async (address) => ({ agentDir: await temporaryDirectory('agent'), address })),
  )
  const agents = places.map((elsewhere) => newAgent({ cpu: '1', elsewhere }))
  for (const agent of agents) await agent.start()
  const command = ['sh', '-c', `if [ $REPRISE_KERNEL_ROLE = main ]; then ${scripts.main}; else ${scripts.sub}; fi`]
  const { sessionId, kernelId } = await create(command, { clusterSize: 2, clusterMode: 'MULTI_NODE' })
  await reaches(sessionId, 'RUNNING')
  await eventually(async () => (await given.text(kernelId)) === 'ready\n')
  const { rows } = await db.query<{ address: string }>(
    'SELECT a.address FROM kernels k JOIN agents a ON a.id = k.agent_id WHERE k.id = $1',
    [kernelId],
  )
  const at = places.findIndex(({ address }) => address === rows[0]!.address)
  return { sessionId, agentOfMain: agents[at]!, again: () => newAgent({ cpu: '1', elsewhere: places[at]! }).start() }
}

const say = (reason: string) => `echo '{"reason":"${reason}"}' >$REPRISE_VERDICT_FILE`

it('a main kernel that fails by itself decides, though a sub failed before and was reported before', async () => {
  const { reaches, db } = given
  const [mainGo, subGo] = [signalFile(await temporaryDirectory('go')), signalFile(await temporaryDirectory('go'))]
  const { sessionId, agentOfMain, again } = await runOnTwoAgents({
    main: `echo ready; ${mainGo.wait}; ${say('main says so')}; exit 6`,
    sub: `${subGo.wait}; ${say('sub says so')}; exit 5`,
  })
  await agentOfMain.stop()
  await subGo.write()
  expect(await reaches(sessionId, 'TERMINATING')).toMatchObject({ exitCode: 5, reason: 'sub says so' })
  await mainGo.write()
  await eventually(() => mainGo.waiting().length === 0)
  await again()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 6, reason: 'main says so' })
  expect(await kernelRows(db, sessionId)).toMatchObject([
    { status: 'ERROR', exitCode: 6 },
    { status: 'ERROR', exitCode: 5 },
  ])
})

it('a sub that failed decides, though the main kernel, stopped for it, ends with a code and a verdict of its own', async () => {
  const { reaches, db } = given
  const [mainGo, subGo] = [signalFile(await temporaryDirectory('go')), signalFile(await temporaryDirectory('go'))]
  const { sessionId, agentOfMain, again } = await runOnTwoAgents({
    main: `trap 'touch ${mainGo.path}.stopped; ${mainGo.wait}; ${say('main was stopped')}; exit 9' TERM; echo ready; while :; do sleep 0.02; done`,
    sub: `${subGo.wait}; ${say('sub says so')}; exit 5`,
  })
  await subGo.write()
  await eventually(() => existsSync(`${mainGo.path}.stopped`))
  // The order to stop outlives the agent that got it.
  await agentOfMain.stop()
  await mainGo.write()
  await eventually(() => mainGo.waiting().length === 0)
  await again()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 5, reason: 'sub says so' })
  expect(await kernelRows(db, sessionId)).toMatchObject([
    { status: 'TERMINATED', exitCode: 9 },
    { status: 'ERROR', exitCode: 5 },
  ])
})
