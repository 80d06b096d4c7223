import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addRocm, fakeTools, type FakeTools } from '../../support/agents/fake-gpu-tools.ts'
import { eventually } from '../../support/eventually.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { cleanEnvironment, MAIN } from '../../support/programs/command-line.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { PATIENT_LEASE, startRemoteFleet, type RemoteFleet } from './remote-fleet.ts'

/** A server, an agent with two GPUs of each vendor by fake tools, and the command line. */

let fleet: RemoteFleet
let tools: FakeTools
let study: string

beforeAll(async () => {
  fleet = await startRemoteFleet({ lease: PATIENT_LEASE })
  tools = await fakeTools(await temporaryDirectory('gpu-tools'))
  await tools.set({ gpus: [{ uuid: 'GPU-0aa' }, { uuid: 'GPU-0bb' }] })
  await addRocm(tools, [{ uniqueId: '0x10' }, { uniqueId: '0x11' }])
  const environment = { PATH: `${tools.directory}:${process.env['PATH']}` }
  const args = ['--slots', 'cpu=2,mem=1g,cuda.device=2,rocm.device=2']
  await fleet.startAgent({ name: 'gpus', token: await fleet.token(), args, environment })
  study = await temporaryDirectory('study')
})

afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet[Symbol.asyncDispose]()
})

async function type(text: string): Promise<string> {
  const env = cleanEnvironment({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: study })
  // Neither Python nor the programs of the page are needed to see what they are given.
  const npx = `npx() { shift; '${process.execPath}' '${MAIN}' "$@"; }`
  return (await promisify(execFile)('bash', ['-ec', `${npx}\n${text}`], { cwd: study, env })).stdout
}

test('the commands of the page', async () => {
  const [block] = await blocksOfTest('test/e2e/remote/gpus.test.ts')
  const [first, second, third] = block!.text.trim().split('\n')
  const program = join(study, 'shows.sh')
  await writeFile(program, '#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES|$ROCR_VISIBLE_DEVICES"\n')
  await chmod(program, 0o755)
  expect(await type(first!.replace(/python3 train.py$/, program))).toMatch(/^GPU-0(aa|bb)\|\n$/)
  expect(await type(second!.replace(/\S+$/, program))).toBe('|GPU-10,GPU-11\n')
  const list = await type(third!)
  for (const uuid of ['GPU-0aa', 'GPU-0bb', 'GPU-10', 'GPU-11']) expect(list).toContain(uuid)
})

test('GPUs by model and memory: what nobody has is reported, and what there is, is shown with its session', async () => {
  const never = await type('npx reprise create --gpu-memory 80g -- true')
  const [id] = /[0-9a-f-]{36}/.exec(never)!
  const { session } = await fleet.graphql('query ($id: UUID!) { session(id: $id) { pendingReason impossible } }', {
    id,
  })
  expect(session).toEqual({
    impossible: true,
    pendingReason: 'impossible: no agent of resource group default has a GPU with 80 GiB; the largest has 40 GiB',
  })
  await type(`npx reprise terminate ${id}`)
  const ends = type('npx reprise run --name holder --gpus A100:1 --gpu-memory 40g -- sleep 4')
  await eventually(async () => /in use: holder/.test(await type('npx reprise agents gpus')))
  await ends
  const [chain] = JSON.parse(await type('npx reprise list --json --limit 5')) as { sessionId: string; name: string }[]
  const info = await type(`npx reprise info ${chain!.sessionId}`)
  expect(info).toMatch(/gpus +\d: NVIDIA A100-SXM4-40GB \(GPU-0(aa|bb)\)/)
  expect(info).toMatch(/gpus used .*of GPU time/)
})

test('a GPU that breaks ends its session, and is out of service until a person returns it', async () => {
  const ends = type('npx reprise run --gpus 2 -- sleep 1000 || echo "ended with $?"')
  await eventually(async () => (await type('npx reprise list --status running')).includes('sleep'))
  await tools.set({ gpus: [{ uuid: 'GPU-0aa', eccErrors: 1 }, { uuid: 'GPU-0bb' }] })
  expect(await ends).toMatch(/^ended with \d+\n$/)
  const { sessions } = await fleet.graphql('{ sessions(first: 1) { edges { node { failureCause failureReason } } } }')
  expect(sessions.edges[0].node).toEqual({ failureCause: 'AGENT_TRANSIENT', failureReason: 'gpu-lost' })
  await eventually(async () => (await stateOf('GPU-0aa')) === 'out of service: 1 uncorrected memory errors (ECC)')
  expect(await stateOf('GPU-0bb')).toBe('in service')
  await expect(type('npx reprise agents gpus gpus --return GPU-0bb')).rejects.toThrow(
    'has no GPU GPU-0bb that is out of service. (GPU_NOT_FOUND)',
  )
  expect(await type('npx reprise agents gpus gpus --return GPU-0aa')).toBe('gpus: GPU 0 (GPU-0aa) returns to service\n')
  await eventually(async () => (await stateOf('GPU-0aa')) === 'in service')
})

test('a GPU that a person takes out of service keeps its session, until it is returned', async () => {
  const ends = type('npx reprise run --name runs-on --gpus 2 -- sleep 6')
  await eventually(async () => /in use: runs-on/.test(await type('npx reprise agents gpus')))
  expect(await type('npx reprise agents gpus gpus --take GPU-0bb --reason "fan noise"')).toBe(
    'gpus: GPU 1 (GPU-0bb) goes out of service\n',
  )
  await eventually(async () => /^out of service: taken out by \S+: fan noise$/.test(await stateOf('GPU-0bb')))
  await ends
  await expect(type('npx reprise agents gpus gpus --take GPU-0bb')).rejects.toThrow(
    'has no GPU GPU-0bb that is in service. (GPU_NOT_FOUND)',
  )
  expect(await type('npx reprise agents gpus gpus --return GPU-0bb')).toBe('gpus: GPU 1 (GPU-0bb) returns to service\n')
  await eventually(async () => (await stateOf('GPU-0bb')) === 'in service')
})

async function stateOf(uuid: string): Promise<string> {
  const list = JSON.parse(await type('npx reprise agents gpus --json')) as GpuRow[]
  const { fault } = list.find((gpu) => gpu.uuid === uuid)!
  return fault === null ? 'in service' : `out of service: ${fault}`
}

interface GpuRow {
  uuid: string
  fault: string | null
}
