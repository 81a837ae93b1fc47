# What Homebrew defines for a formula, as far as ours uses it: blocks of other systems than Linux on
# amd64 are skipped. Run with FORMULA and PREFIX set, in the folder of the unpacked archive:
# `fields` prints the formula's fields, `install` installs.
require "fileutils"
require "pathname"

class Folder < Pathname
  def install(name)
    FileUtils.mkdir_p(self)
    FileUtils.cp(name, self)
  end

  def install_symlink(links)
    links.each { |to, from| FileUtils.ln_s(to, self/from) }
  end

  def /(name) = Folder.new(super)
end

class Formula
  @@fields = {}
  def self.fields = @@fields
  %i[desc homepage version license url sha256].each do |name|
    define_singleton_method(name) { |value| @@fields[name] = value }
  end
  def self.on_macos = nil
  def self.on_linux = yield
  def self.on_arm = nil
  def self.on_intel = yield
  def self.test = nil
  def bin = Folder.new(ENV.fetch("PREFIX"))/"bin"
  def generate_completions_from_executable(program, *arguments)
    %w[bash zsh fish].each do |shell|
      system(program.to_s, *arguments, shell, out: File::NULL) or abort("no completion for #{shell}")
    end
  end
end

load ENV.fetch("FORMULA")
case ARGV.first
when "fields" then Formula.fields.each { |name, value| puts "#{name}=#{value}" }
when "install" then Asya.new.install
end
