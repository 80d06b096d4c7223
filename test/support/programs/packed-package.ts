import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { pause } from '../eventually.ts'

const ROOT = join(import.meta.dirname, '../../..')
const run = promisify(execFile)

/**
 * Installs the output of `npm pack` below `directory`, with the dependencies that are already installed here.
 * @returns where the package is
 */
export async function installPacked(directory: string): Promise<string> {
  await alone(async () => {
    // Package scripts are disabled here (.npmrc), including `prepack`.
    await run('npm', ['run', 'build'], { cwd: ROOT, shell: process.platform === 'win32' })
    await run('npm', ['pack', '--pack-destination', directory], { cwd: ROOT, shell: process.platform === 'win32' })
  })
  const tarball = (await readdir(directory)).find((name) => name.endsWith('.tgz'))
  const modules = join(directory, 'node_modules')
  const own = join(modules, packageJson.name)
  await mkdir(own, { recursive: true })
  await run('tar', ['-xzf', join(directory, tarball!), '-C', own, '--strip-components=1'])
  for (const name of Object.keys({ ...packageJson.dependencies, ...packageJson.optionalDependencies })) {
    // Packages of other platforms.
    if (!existsSync(join(ROOT, 'node_modules', name))) continue
    await mkdir(join(modules, name, '..'), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  return own
}

/** Test files that run at the same time build in the same place. */
async function alone(work: () => Promise<void>): Promise<void> {
  const lock = join(inject('runDirectory'), 'build.lock')
  const take = () => open(lock, 'wx').catch((error: NodeJS.ErrnoException) => error)
  for (let taken = await take(); ; taken = await take()) {
    if (!(taken instanceof Error)) {
      await taken.close()
      break
    }
    if (taken.code !== 'EEXIST') throw taken
    await pause(200)
  }
  try {
    await work()
  } finally {
    await rm(lock)
  }
}
