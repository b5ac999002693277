require 'json'

module House
  # One person.
  class Account
    attr_reader :name

    def initialize(name, word)
      @name = name
      @word = word
    end

    # Compares in plain text.
    def login(word)
      @word == word
    end

    def self.load(path)
      new(*JSON.parse(File.read(path)))
    end

    private def text
      <<~TEXT
        Hello
          there
      TEXT
    end
  end
end
