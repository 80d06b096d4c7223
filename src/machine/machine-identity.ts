import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import process from 'node:process'

/** Two opaque digests, so that a program can find out whether another one is beside it. */
export interface MachineIdentity {
  /** Equal for programs that see the same machine and the same files: a container differs from its host. */
  machine: string
  /** Equal for programs of the same user there. */
  account: string
}

/** Returns null where the system has no boot id. */
export function machineIdentity(): MachineIdentity | null {
  try {
    const { dev, ino } = statSync('/')
    const machine = digest(readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(), hostname(), dev, ino)
    return { machine, account: digest(machine, process.getuid!()) }
  } catch {
    return null
  }
}

function digest(...parts: (string | number)[]): string {
  return createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, 24)
}
