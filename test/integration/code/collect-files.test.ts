/** What `--upload` takes along, by git's own rules, in directories that are made for it. */
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { collectFiles } from '../../../src/cli/collect-files.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

let here: string
beforeEach(async () => {
  here = await temporaryDirectory('collected')
  // Excludes of whoever runs the test.
  vi.stubEnv('XDG_CONFIG_HOME', join(here, '.git/none'))
})
afterEach(() => {
  vi.unstubAllEnvs()
})

async function make(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(here, path)), { recursive: true })
    await writeFile(join(here, path), text)
  }
}

function git(...args: string[]): void {
  execFileSync('git', ['-C', here, '-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], { stdio: 'pipe' })
}

async function collected(...paths: string[]): Promise<string[]> {
  return (await collectFiles(paths, here)).map(({ name }) => name)
}

test('a repository: what git tracks and what it does not ignore, and nothing of .git', async () => {
  await make({ '.gitignore': '*.log\n', 'a.py': '', 'kept.log': '', 'new.log': '', 'gone.py': '', 'out/x.bin': '' })
  git('init', '--quiet')
  git('add', '--force', 'a.py', 'kept.log', 'gone.py')
  git('commit', '--quiet', '--message', 'a')
  await rm(join(here, 'gone.py'))
  await writeFile(join(here, '.git/info/exclude'), 'out/\n')
  await make({ 'untracked.py': '' })
  expect(await collected('.')).toEqual(['.gitignore', 'a.py', 'kept.log', 'untracked.py'])
  // One that is ignored as a whole is wanted if it is named.
  expect(await collected('out')).toEqual(['out/x.bin'])
  expect(await collected('new.log')).toEqual(['new.log'])
})

test('a .gitignore above what is named counts, and so do excludes of one’s own', async () => {
  await make({
    '.gitignore': '*.log\n',
    'src/a.py': '',
    'src/a.log': '',
    'src/a.tmp': '',
    'config/git/ignore': '*.tmp\n',
  })
  git('init', '--quiet')
  vi.stubEnv('XDG_CONFIG_HOME', join(here, 'config'))
  expect(await collected('src')).toEqual(['src/a.py'])
})

test('a repository within it comes along with its files', async () => {
  await make({ 'a.py': '', 'inner/b.py': '', 'inner/b.log': '', 'inner/.gitignore': '*.log\n' })
  git('init', '--quiet')
  git('init', '--quiet', 'inner')
  expect(await collected('.')).toEqual(['a.py', 'inner/.gitignore', 'inner/b.py'])
})

test('places, modes and links are what they are here', async () => {
  await make({ 'work/run.sh': '', 'work/lib/b.py': '', 'beside/c.py': '', 'd.py': '' })
  await chmod(join(here, 'work/run.sh'), 0o755)
  await symlink('lib/b.py', join(here, 'work/link'))
  const entries = await collectFiles(['.', '../beside', '../d.py'], join(here, 'work'))
  expect(entries).toMatchObject([
    { name: 'beside/c.py', executable: false },
    { name: 'd.py' },
    { name: 'lib/b.py' },
    { name: 'link', kind: 'link', target: 'lib/b.py' },
    { name: 'run.sh', executable: true },
  ])
})

test('what would leave, or be there twice, or is nothing, is refused by name', async () => {
  await make({ 'a/x.py': '1', 'b/x.py': '2' })
  await expect(collectFiles(['../a/x.py', '../b/x.py'], join(here, 'a'))).rejects.toThrow(
    /b\/x\.py would both be x\.py$/,
  )
  await mkdir(join(here, 'empty'))
  await expect(collected('empty')).rejects.toThrow('--upload empty: there are no files')
  await expect(collected('none')).rejects.toThrow('--upload none: there is no such file')
  await symlink('../b/x.py', join(here, 'a/in'))
  expect(await collected('.')).toEqual(['a/in', 'a/x.py', 'b/x.py'])
  await expect(collectFiles(['.'], join(here, 'a'))).rejects.toThrow('the link in leads to ../b/x.py, which is outside')
})

test('without git, a directory comes as it is, and one with a .gitignore is refused', async () => {
  await make({ 'a.py': '', '.git/config': '' })
  vi.stubEnv('PATH', join(here, 'nowhere'))
  expect(await collected('.')).toEqual(['a.py'])
  await make({ 'lib/.gitignore': '*.log\n' })
  await expect(collected('.')).rejects.toThrow(/git is needed to apply .*\/lib\/\.gitignore/)
})
