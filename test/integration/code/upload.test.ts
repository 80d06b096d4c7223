/** Uploaded code: which files are taken, kept and removed. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { collectFiles, type LeftOut } from '../../../src/cli/collect-files.ts'
import { HOSTILE_ARCHIVES } from '../../support/hostile-archives.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type TestServer as ApiServer, startGraphQLServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { archiveOf } from './code-archives.ts'

describe('collecting files', () => {
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

  test('a repository: tracked files and those that git does not ignore, and nothing of .git', async () => {
    await make({ '.gitignore': '*.log\n', 'a.py': '', 'kept.log': '', 'new.log': '', 'gone.py': '', 'out/x.bin': '' })
    git('init', '--quiet')
    git('add', '--force', 'a.py', 'kept.log', 'gone.py')
    git('commit', '--quiet', '--message', 'a')
    await rm(join(here, 'gone.py'))
    await writeFile(join(here, '.git/info/exclude'), 'out/\n')
    await make({ 'untracked.py': '' })
    expect(await collected('.')).toEqual(['.gitignore', 'a.py', 'kept.log', 'untracked.py'])
    // A wholly ignored directory is taken if it is named.
    expect(await collected('out')).toEqual(['out/x.bin'])
    expect(await collected('new.log')).toEqual(['new.log'])
  })

  test('a .gitignore above the named directory counts, and so do personal excludes', async () => {
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

  test.each([
    ['in a repository', true],
    ['outside of one', false],
  ])('what cannot be uploaded is named with its reason, %s', async (_, isRepository) => {
    await make({ '.gitignore': 'out/\n', 'a.py': '', 'out/x.bin': '', 'src/b.py': '' })
    if (isRepository) git('init', '--quiet')
    for (const name of ['src/pipe', 'out/pipe']) execFileSync('mkfifo', [join(here, name)])
    await writeFile(Buffer.concat([Buffer.from(join(here, 'src/caf')), Buffer.of(0xe9)]), '')
    const listener = createServer().listen(join(here, 'socket'))
    await once(listener, 'listening')
    const leftOut: LeftOut[] = []
    const entries = await collectFiles(['.', 'src'], here, (files) => leftOut.push(...files))
    listener.close()
    expect(entries.map(({ name }) => name)).toEqual(['.gitignore', 'a.py', 'src/b.py'])
    expect(leftOut.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'socket', reason: 'a socket' },
      { name: 'src/caf\uFFFD', reason: 'its name is not UTF-8' },
      { name: 'src/pipe', reason: 'a FIFO' },
    ])
  })

  test('paths, modes and links are kept', async () => {
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

  test('a path that leaves the directory, is there twice, or does not exist is refused by name', async () => {
    await make({ 'a/x.py': '1', 'b/x.py': '2' })
    await expect(collectFiles(['../a/x.py', '../b/x.py'], join(here, 'a'))).rejects.toThrow(
      /b\/x\.py would both be x\.py$/,
    )
    await mkdir(join(here, 'empty'))
    await expect(collected('empty')).rejects.toThrow('--upload empty: there are no files')
    await expect(collected('none')).rejects.toThrow('--upload none: there is no such file')
    await symlink('../b/x.py', join(here, 'a/in'))
    expect(await collected('.')).toEqual(['a/in', 'a/x.py', 'b/x.py'])
    await expect(collectFiles(['.'], join(here, 'a'))).rejects.toThrow(
      'the link in leads to ../b/x.py, which is outside',
    )
  })

  test('without git, a directory comes as it is, and one with a .gitignore is refused', async () => {
    await make({ 'a.py': '', '.git/config': '' })
    vi.stubEnv('PATH', join(here, 'nowhere'))
    expect(await collected('.')).toEqual(['a.py'])
    await make({ 'lib/.gitignore': '*.log\n' })
    await expect(collected('.')).rejects.toThrow(/git is needed to apply .*\/lib\/\.gitignore/)
  })
})

describe('uploads', () => {
  const CODE = archiveOf({ 'train.py': 'print(1)\n', 'lib/a.py': 'x = 1\n' })
  const OTHER = archiveOf({ 'train.py': 'print(2)\n' })

  describe('over REST', () => {
    let api: ApiServer

    beforeAll(async () => {
      api = await startGraphQLServer()
    })
    afterAll(() => api?.close())

    async function put(
      sha256: string,
      body: Uint8Array<ArrayBuffer>,
      { token = api.adminToken, type = 'application/x-tar' } = {},
    ) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': type }
      const response = await fetch(`${api.url}/v2/code/${sha256}`, { method: 'PUT', headers, body })
      return { status: response.status, body: await response.json() }
    }
    async function get(sha256: string) {
      const headers = { authorization: `Bearer ${api.adminToken}` }
      const response = await fetch(`${api.url}/v2/code/${sha256}`, { headers })
      return { status: response.status, body: await response.json() }
    }
    const bodyOf = (archive: { bytes: Buffer }) => new Uint8Array(archive.bytes)

    test('it is stored once, and its hash is returned', async () => {
      expect(await get(CODE.sha256)).toMatchObject({ status: 404, body: { code: 'CODE_NOT_FOUND' } })
      const stored = { sha256: CODE.sha256, bytes: CODE.bytes.length, files: 2 }
      expect(await put(CODE.sha256, bodyOf(CODE))).toMatchObject({ status: 201, body: stored })
      expect(await put(CODE.sha256, bodyOf(CODE))).toMatchObject({ status: 200, body: stored })
      expect(await get(CODE.sha256)).toMatchObject({ status: 200, body: stored })
      const { rows } = await api.db.query("SELECT details FROM audit_log WHERE action = 'uploadCode'")
      expect(rows).toEqual([{ details: stored }])
    })

    test('a body with another hash is refused, and leaves nothing', async () => {
      const hostile = archiveOf({ a: '' }, [{ kind: 'link', name: 'l', bytes: 0, executable: false, target: '/etc' }])
      const text = Buffer.from('no archive at all, but long enough to be a block of it'.padEnd(600))
      const textHash = createHash('sha256').update(text).digest('hex')
      const refused: [string, Buffer, number, string][] = [
        [CODE.sha256.replace(/^./, 'g'), CODE.bytes, 422, 'must be a SHA-256'],
        [OTHER.sha256, CODE.bytes, 422, `its SHA-256 is ${CODE.sha256}`],
        [hostile.sha256, hostile.bytes, 422, 'the link l leads to /etc'],
        [textHash, text, 422, 'no tar archive'],
      ]
      for (const [sha256, bytes, status, words] of refused) {
        const answer = await put(sha256, new Uint8Array(bytes))
        expect(answer).toMatchObject({ status, body: { detail: expect.stringContaining(words) } })
        expect((await get(sha256)).status).not.toBe(200)
      }
      expect(await put(OTHER.sha256, bodyOf(OTHER), { type: 'text/plain' })).toMatchObject({ status: 415 })
      const viewer = await api.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
      expect(await put(OTHER.sha256, bodyOf(OTHER), { token: viewer })).toMatchObject({ status: 403 })
    })

    test.each(HOSTILE_ARCHIVES)('$name: refused with the fault, and nothing is left', async ({ bytes, says }) => {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const answer = await put(sha256, new Uint8Array(bytes))
      expect(answer).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } })
      expect(answer.body.detail).toContain(says)
      expect((await get(sha256)).status).toBe(404)
    })

    test('an upload with too large a length is refused before it is sent', async () => {
      const { status, body } = await new Promise<{ status: number; body: string }>((resolve, reject) => {
        const sent = request(`${api.url}/v2/code/${OTHER.sha256}`, {
          method: 'PUT',
          headers: {
            authorization: `Bearer ${api.adminToken}`,
            'content-type': 'application/x-tar',
            'content-length': 2 ** 40,
          },
        })
        sent.on('response', (answer) => {
          let text = ''
          answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          answer.on('end', () => resolve({ status: answer.statusCode!, body: text }))
          answer.on('end', () => sent.destroy())
        })
        sent.on('error', reject)
        sent.flushHeaders()
      })
      expect({ status, body }).toMatchObject({ status: 413, body: expect.stringContaining('REPRISE_UPLOAD_BYTES_MAX') })
    })
  })
})
