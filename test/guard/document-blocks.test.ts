import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { documentBlocks, stands, TESTS_OF_BLOCKS } from '../support/document-blocks.ts'
import { ROOT } from './source-files.ts'

/** Examples that no test runs go stale: each fenced block belongs to one test, which takes it from the page. */

const blocks = await documentBlocks()
const claims = Object.entries(TESTS_OF_BLOCKS).flatMap(([path, places]) => places.map((place) => ({ path, place })))

test('each fenced block of the documentation is run by one test', () => {
  expect(blocks.length).toBeGreaterThan(25)
  const wrong = blocks
    .map((block) => ({ block, paths: claims.filter(({ place }) => stands(block, place)).map(({ path }) => path) }))
    .filter(({ paths }) => paths.length !== 1)
    .map(({ block, paths }) => `${block.page}:${block.line} ${block.language}: ${paths.join(', ') || 'no test'}`)
  expect(wrong).toEqual([])
})

test('each place that a test takes blocks from has some', () => {
  expect(claims.filter(({ place }) => !blocks.some((block) => stands(block, place)))).toEqual([])
})

test.each(Object.keys(TESTS_OF_BLOCKS))('%s takes its blocks from there', async (path) => {
  expect(await readFile(join(ROOT, path), 'utf8')).toContain(`blocksOfTest('${path}')`)
})
