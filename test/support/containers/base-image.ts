import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { findProgram } from '../distribution.ts'
import { npmDirectory } from './npm-settings.ts'
import type { Podman } from './private-podman.ts'

const NAME = 'localhost/node:base'
/** Files that no program reads. */
const UNREAD = ['doc', 'info', 'locale', 'man'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`)

/**
 * In place of the image that the Containerfile begins with: the distribution of this machine at its smallest, with the
 * Node that runs this test and the npm of this machine.
 * @returns its name
 */
export async function importBaseImage(podman: Podman): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8')
  const [, suite] = /^VERSION_CODENAME=(\S+)$/m.exec(release)!
  const npm = dirname(dirname(await npmDirectory()))
  const make = spawn(
    findProgram('mmdebstrap')!,
    [
      '--quiet',
      '--variant=essential',
      '--include=ca-certificates,libstdc++6,passwd',
      ...UNREAD,
      `--customize-hook=upload '${process.execPath}' /usr/local/bin/node`,
      '--customize-hook=chmod 755 "$1/usr/local/bin/node"; mkdir -p "$1/usr/local/lib/node_modules"',
      `--customize-hook=copy-in '${join(npm, 'npm')}' /usr/local/lib/node_modules`,
      '--customize-hook=ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"',
      suite!,
      '-',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const [program, ...words] = podman.command.words
  const take = spawn(program!, [...words, 'import', '--quiet', '-', NAME], {
    env: podman.command.env,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  make.stdout.pipe(take.stdin)
  await Promise.all([succeeded('mmdebstrap', make), succeeded('podman import', take)])
  return NAME
}

async function succeeded(what: string, child: ReturnType<typeof spawn>): Promise<void> {
  let told = ''
  child.stderr!.on('data', (text: Buffer) => (told += text.toString()))
  const [status] = (await once(child, 'close')) as [number | null]
  if (status !== 0) throw new Error(`${what} ended with ${status}: ${told}`)
}
