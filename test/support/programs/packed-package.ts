import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import packageJson from '../../../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '../../..')
const run = promisify(execFile)

/**
 * Installs the output of `npm pack` below `directory`, with the dependencies that are already installed here.
 * @returns where the package is
 */
export async function installPacked(directory: string): Promise<string> {
  // Package scripts are disabled here, including `prepack`.
  await run('npm', ['run', 'build'], { cwd: ROOT, shell: process.platform === 'win32' })
  await run('npm', ['pack', '--pack-destination', directory], { cwd: ROOT, shell: process.platform === 'win32' })
  const tarball = (await readdir(directory)).find((name) => name.endsWith('.tgz'))
  const modules = join(directory, 'node_modules')
  const own = join(modules, packageJson.name)
  await mkdir(own, { recursive: true })
  await run('tar', ['-xzf', join(directory, tarball!), '-C', own, '--strip-components=1'])
  for (const name of Object.keys({ ...packageJson.dependencies, ...packageJson.optionalDependencies })) {
    // Of other platforms.
    if (!existsSync(join(ROOT, 'node_modules', name))) continue
    await mkdir(join(modules, name, '..'), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  return own
}
