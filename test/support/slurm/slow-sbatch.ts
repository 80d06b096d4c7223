import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../distribution.ts'
import { eventually } from '../eventually.ts'

/** Slurm's own `sbatch` behind a script that waits where it is told to. It lives on without who has called it. */
export interface SlowSbatch {
  /** To be searched before others: has nothing else. */
  readonly directory: string
  /** From now on, until `goOn`: before a job is submitted, or before the caller is answered. */
  pause(where: 'before' | 'after'): void
  goOn(): void
  /** It waits there with all that it was given, or has passed. */
  reached(where: 'before' | 'after'): Promise<void>
  /** Jobs that are submitted from now on are ended by what they first write into a file. */
  forbidWriting(): void
  /** Ends one that waits, as a crash of the machine would. */
  kill(): void
}

const SCRIPT = `#!/bin/sh
here=\${0%/*}
cat >"$here/job.$$"
echo $$ >"$here/reached-before.new"
mv "$here/reached-before.new" "$here/reached-before"
while [ -e "$here/pause-before" ]; do sleep 0.05; done
[ -e "$here/no-writing" ] && ulimit -f 0
"REAL" "$@" <"$here/job.$$"
status=$?
: >"$here/reached-after"
while [ -e "$here/pause-after" ]; do sleep 0.05; done
exit $status
`

export function slowSbatch(directory: string): SlowSbatch {
  mkdirSync(directory)
  const script = join(directory, 'sbatch')
  writeFileSync(script, SCRIPT.replace('REAL', findProgram('sbatch')!))
  chmodSync(script, 0o755)
  const file = (name: string) => join(directory, name)
  return {
    directory,
    pause: (where) => writeFileSync(file(`pause-${where}`), ''),
    goOn() {
      for (const where of ['before', 'after']) rmSync(file(`pause-${where}`), { force: true })
    },
    async reached(where) {
      await eventually(() => existsSync(file(`reached-${where}`)), { withinMs: 120_000, what: `sbatch ${where}` })
    },
    forbidWriting: () => writeFileSync(file('no-writing'), ''),
    kill: () => void process.kill(Number(readFileSync(file('reached-before'), 'utf8')), 'SIGKILL'),
  }
}
