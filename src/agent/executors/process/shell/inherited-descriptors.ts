import type { IOType } from 'node:child_process'
import { openSync, readdirSync, readFileSync } from 'node:fs'

const O_CLOEXEC = 0o2000000

let nowhere: number | undefined

/**
 * For `spawn`: descriptors that this process itself has inherited, from a terminal or a supervisor, and would pass on
 * to the child, become `/dev/null` there. Node opens its own so that no child inherits them, and does the same to the
 * low ones that it finds; nothing in Node can do it to the others.
 */
export function withoutInherited(stdio: readonly (IOType | number)[]): Array<IOType | number> {
  const all: Array<IOType | number> = [...stdio]
  for (const fd of inherited().filter((each) => each >= stdio.length)) {
    while (all.length < fd) all.push('ignore')
    all[fd] = nowhere ??= openSync('/dev/null', 'r+')
  }
  return all
}

function inherited(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter(isPassedOn)
    .toSorted((a, b) => a - b)
}

function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & O_CLOEXEC) === 0
  } catch {
    // Closed meanwhile.
    return false
  }
}
