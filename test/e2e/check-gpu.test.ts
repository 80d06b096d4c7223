import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { fakeTools } from '../support/agents/fake-gpu-tools.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

test('without a GPU the check says so, and fails', async () => {
  const tools = await fakeTools(await temporaryDirectory('no-gpu'))
  await tools.set({ gpus: [], fails: 'NVIDIA-SMI has failed because it could not communicate with the driver.' })
  const env = { ...process.env, PATH: `${tools.directory}:${process.env['PATH']}` }
  const main = join(import.meta.dirname, '../gpu/main.ts')
  await expect(promisify(execFile)(process.execPath, [main], { env })).rejects.toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^This machine has no NVIDIA GPU[^]*Nothing was checked\.\n$/) as string,
  })
})
