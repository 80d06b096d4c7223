import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A tree as a program may leave it: of many levels, every one of which is locked, the outermost too, and some with links
 * out of it, a further name of a file elsewhere, a pipe, and a name that is not UTF-8.
 *
 * @param outside has `directory` and `file`
 */
export function makeDeepTree(path: string, levels: number, outside: string): void {
  const before = process.cwd()
  mkdirSync(path)
  process.chdir(path)
  for (let level = 0; level < levels; level++) {
    mkdirSync('d')
    if (level % 50 === 0) makeStrange(outside)
    process.chdir('d')
  }
  writeFileSync('bottom', '')
  for (let level = 0; level < levels; level++) {
    process.chdir('..')
    chmodSync('d', 0)
  }
  process.chdir(before)
  chmodSync(path, 0)
}

function makeStrange(outside: string): void {
  symlinkSync(join(outside, 'directory'), 'link')
  symlinkSync(join(outside, 'file'), 'file-link')
  symlinkSync('.', 'circle')
  linkSync(join(outside, 'file'), 'second')
  execFileSync('mkfifo', ['pipe'])
  writeFileSync(Buffer.from([0x66, 0xff, 0xfe]), 'no UTF-8')
  mkdirSync('locked')
  writeFileSync('locked/a', '')
  chmodSync('locked', 0)
  writeFileSync('read-only', '', { mode: 0 })
}
