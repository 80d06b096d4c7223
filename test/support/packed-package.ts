import { execFile } from 'node:child_process'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** Installs what `npm pack` packs below `directory`, beside the dependencies that are here already. */
export async function installPacked(directory: string): Promise<void> {
  // Scripts of packages are switched off here, and `prepack` with them.
  await run('npm', ['run', 'build'], { cwd: ROOT, shell: process.platform === 'win32' })
  await run('npm', ['pack', '--pack-destination', directory], { cwd: ROOT, shell: process.platform === 'win32' })
  const tarball = (await readdir(directory)).find((name) => name.endsWith('.tgz'))
  const modules = join(directory, 'node_modules')
  const own = join(modules, packageJson.name)
  await mkdir(own, { recursive: true })
  await run('tar', ['-xzf', join(directory, tarball!), '-C', own, '--strip-components=1'])
  for (const name of Object.keys(packageJson.dependencies)) {
    await mkdir(join(modules, name, '..'), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
}
