/** What programs have left is removed, whoever the agent is, and nothing else. */
import { execFileSync } from 'node:child_process'
import { chownSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { skipReason } from '../../support/distribution.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

const CHECKOUT = join(import.meta.dirname, '../../..')
const PROGRAM = join(CHECKOUT, 'test/support/programs/tree-removal-program.ts')
const LEVELS = 6_000
const GUARD_MS = 600_000

const OTHERS_READ = (path: string): boolean =>
  path === '/' || ((statSync(path).mode & 0o005) === 0o005 && OTHERS_READ(dirname(path)))
const AM_ROOT = process.getuid!() === 0
const unreadable = skipReason('isolation', OTHERS_READ(CHECKOUT) ? null : 'other users cannot read it')
const onlyRoot = skipReason('isolation', AM_ROOT ? unreadable : 'only root becomes another user')

const REMOVED = {
  whole: [],
  inPasses: { passes: 60, largest: 1, left: [] },
  whileItChanges: { gone: true, left: [] },
  outside: { names: ['directory', 'directory/inner', 'file'], content: 'kept', mode: 0o500, links: 1 },
}

async function removedBy(asUser: string[], uid: number): Promise<unknown> {
  const directory = await temporaryDirectory('trees')
  chownSync(directory, uid, uid)
  const [command, ...args] = [...asUser, process.execPath, PROGRAM, directory, String(LEVELS)]
  return JSON.parse(execFileSync(command, args, { encoding: 'utf8' }))
}

const TREES = 'trees of 6,000 locked levels, ones that change meanwhile, and ones that an earlier instance has left'

test(`${TREES} go, and nothing outside of them`, { timeout: GUARD_MS }, async () => {
  expect(await removedBy(['env'], process.getuid!())).toMatchObject(REMOVED)
})

test.skipIf(onlyRoot !== null)(`${TREES} go also without root`, { timeout: GUARD_MS }, async () => {
  const user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
  expect(await removedBy(user, 65_534)).toMatchObject({
    ...REMOVED,
    whileItChanges: { gone: true, swapped: 7, left: [] },
  })
})

test.skipIf(!AM_ROOT)(
  'what is mounted in a tree is left as it is, and the rest goes',
  { timeout: GUARD_MS },
  async () => {
    const directory = await temporaryDirectory('mounted')
    const script = `mkdir -p outside tree/a/mount tree/b; echo kept >outside/file
mount --bind outside tree/a/mount
"$NODE" -e 'import(process.argv[1]).then(({ removeTree }) => removeTree("tree")).catch(({ code }) => console.log(code))' "$MODULE"
find . -name file; find . -name b`
    const env = {
      PATH: process.env['PATH'],
      NODE: process.execPath,
      MODULE: join(CHECKOUT, 'src/agent/remove-tree.ts'),
    }
    const said = execFileSync('unshare', ['--mount', 'sh', '-ec', script], { cwd: directory, env, encoding: 'utf8' })
    const [code, ...found] = said.trim().split('\n')
    expect(code).toBe('EBUSY')
    // Where it was mounted, and where it is.
    expect(found).toHaveLength(2)
    expect(found.every((path) => path.endsWith('/file'))).toBe(true)
  },
)
