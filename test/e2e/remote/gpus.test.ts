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
    'has no GPU GPU-0bb that is out of',
  )
  expect(await type('npx reprise agents gpus gpus --return GPU-0aa')).toBe('gpus: GPU 0 (GPU-0aa) returns to service\n')
  await eventually(async () => (await stateOf('GPU-0aa')) === 'in service')
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
