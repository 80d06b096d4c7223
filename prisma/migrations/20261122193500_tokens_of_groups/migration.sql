-- The only resource groups that agents with the token may join; null for any.
ALTER TABLE "api_tokens" ADD COLUMN "resource_groups" TEXT[];
