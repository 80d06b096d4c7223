import { createHash } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { commandLine, startCommand } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

const FILES = {
  '.gitignore': '*.log\n',
  'lib/data.txt': 'data\n',
  'train.sh': '#!/bin/sh\nfind . -type f | sort | xargs sha1sum\ntest "$REPRISE_ATTEMPT" = 2\n',
}

/** Both attempts find the same files in their working directory and can run them, and read the same standard input. */
export async function expectUploadToRun(environment: Record<string, string>, options: string[] = []): Promise<void> {
  const here = await temporaryDirectory('uploaded')
  await mkdir(join(here, 'lib'))
  for (const [path, text] of Object.entries({ ...FILES, 'noise.log': 'no' })) await writeFile(join(here, path), text)
  await chmod(join(here, 'train.sh'), 0o755)
  const retries = ['--retries', '1', '--retry-delay', '0.1', ...options]
  const words = ['-n', 'uploaded', ...retries, '--upload', '.']
  const { status, stdout, stderr } = await commandLine(environment, here)('run', ...words, '--', './train.sh')
  expect({ status, stderr }).toMatchObject({ status: 0 })
  const found = Object.entries(FILES).map(
    ([path, text]) => `${createHash('sha1').update(text).digest('hex')}  ./${path}\n`,
  )
  expect(stdout).toBe([...found, ...found].join(''))
  const reading = ['run', '--stdin', ...retries, '--', 'sh', '-c', 'cat; test "$REPRISE_ATTEMPT" = 2']
  const piped = await startCommand(reading, environment, 'one\ntwo\n').ended
  expect(piped).toMatchObject({ status: 0, stdout: 'one\ntwo\none\ntwo\n' })
}
